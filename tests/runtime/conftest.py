"""People and tickets for the runtime's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User

from lifecycle import SYSTEM
from lifecycle.runtime import create
from tests.support.models import Ticket


@pytest.fixture
def agent(db: Any) -> User:
    """Somebody who may solve tickets, but not escalate them."""
    user = User.objects.create_user("agent")
    user.user_permissions.add(Permission.objects.get(codename="solve_ticket"))
    return User.objects.get(pk=user.pk)


@pytest.fixture
def visitor(db: Any) -> User:
    """Somebody without any permission."""
    return User.objects.create_user("visitor")


@pytest.fixture
def new_ticket(db: Any) -> Callable[..., Ticket]:
    """Makes tickets through the runtime."""

    def make(**values: Any) -> Ticket:
        return create(Ticket(**values), actor=SYSTEM)

    return make


@pytest.fixture
def ticket(new_ticket: Callable[..., Ticket]) -> Ticket:
    return new_ticket()
