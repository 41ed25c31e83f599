"""The shop under test: its addresses, its secrets, its people, and a provider that is an object."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from lifecycle.testing import Kit
from orders.lifecycles import OrderLifecycle, StrayPaymentLifecycle
from tests.orders.provider import SECRET, FakePayments, FakeServices


@pytest.fixture(autouse=True)
def shop_settings(settings: Any) -> None:
    settings.ROOT_URLCONF = "example_project.urls"
    settings.LOGIN_URL = "login"
    settings.PAYMENTS = {"URL": "http://127.0.0.1:1/", "TOKEN": "shop", "TIMEOUT": 1.0, "WEBHOOK_SECRETS": [SECRET]}


@pytest.fixture
def payments(lifecycle: Kit) -> FakePayments:
    """The provider that effects reach."""
    fake = FakePayments()
    lifecycle.use_services(OrderLifecycle, FakeServices(payments=fake))
    lifecycle.use_services(StrayPaymentLifecycle, FakeServices(payments=fake))
    return fake


@pytest.fixture
def clerk(db: None) -> User:
    """Works here; may ship, may not refund."""
    user = User.objects.create_user("chidi", password="x", is_staff=True)
    may = ["view_order", "add_order", "change_order", "ship_order"]
    user.user_permissions.set(Permission.objects.filter(codename__in=may))
    return user


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create_superuser("ada", password="x")


@pytest.fixture
def clerk_client(clerk: User) -> Client:
    """The clerk's browser."""
    client = Client()
    client.force_login(clerk)
    return client
