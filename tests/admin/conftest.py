"""The admin under test: the shop's story, and browsers logged in as somebody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from lifecycle.testing import Kit
from orders.lifecycles import OrderLifecycle, StrayPaymentLifecycle
from tests.admin.story import Story
from tests.orders.provider import FakePayments, FakeServices


@pytest.fixture
def payments(lifecycle: Kit) -> FakePayments:
    """The provider that effects reach."""
    fake = FakePayments()
    lifecycle.use_services(OrderLifecycle, FakeServices(payments=fake))
    lifecycle.use_services(StrayPaymentLifecycle, FakeServices(payments=fake))
    return fake


@pytest.fixture
def story(db: None, lifecycle: Kit, payments: FakePayments) -> Iterator[Story]:
    told = Story(lifecycle, payments)
    yield told
    told.close()


@pytest.fixture
def browser_of() -> Callable[[Any], Client]:
    """A browser in which this user is logged in; CSRF is checked as ever."""

    def made(user: Any = None) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user)
        return client

    return made
