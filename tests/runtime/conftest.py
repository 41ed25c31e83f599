"""People, tickets and a statement counter for the runtime's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from lifecycle import SYSTEM
from lifecycle.runtime import create
from tests.desk.models import Ticket

CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")


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


@contextmanager
def statements(expected: int) -> Iterator[None]:
    """Asserts how many statements are sent, without those that only begin and end transactions."""
    with CaptureQueriesContext(connection) as captured:
        yield
    sent = [query["sql"] for query in captured if not query["sql"].startswith(CONTROL)]
    assert len(sent) == expected, "\n".join([f"expected {expected}, sent {len(sent)}:", *sent])
