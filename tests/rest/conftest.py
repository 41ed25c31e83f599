"""What the tests of the REST endpoints share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from rest_framework.test import APIClient

from lifecycle import dispatch
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.models import OperatorAction, Run, TransitionLog
from lifecycle.runtime import create
from tests.support.models import Parcel, Ticket


@pytest.fixture(autouse=True)
def _endpoints(settings: Any) -> Iterator[None]:
    settings.ROOT_URLCONF = "tests.rest.urls"
    with dispatch.replaced(RecordingDispatcher()):
        yield


@pytest.fixture
def user(db: None) -> User:
    return user_with("agent", "support.solve_ticket")


@pytest.fixture
def operator(db: None) -> User:
    return user_with("operator", "lifecycle.operate")


@pytest.fixture
def api(user: User) -> APIClient:
    return client_of(user)


@pytest.fixture
def ticket(user: User) -> Ticket:
    return create(Ticket(), actor=user)


@pytest.fixture
def parcel(user: User) -> Parcel:
    return create(Parcel(), actor=user)


@pytest.fixture
def unchanged() -> Callable[[], Any]:
    """All that is stored, to compare before with after."""

    def picture() -> Any:
        models = (Ticket, Parcel, TransitionLog, Run, OperatorAction)
        return [list(model._default_manager.order_by("pk").values()) for model in models]

    return picture


def user_with(name: str, *permissions: str) -> User:
    person = User.objects.create_user(name, password="password")
    for permission in permissions:
        app, codename = permission.split(".")
        person.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    return person


def client_of(person: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


def assert_error(response: Any, status: int, code: str) -> Any:
    """The documented status and the one error body; answers the body."""
    assert response.status_code == status, response.content
    data = response.json()
    assert set(data) == {"detail", "code", "refusals", "problems"}
    assert data["code"] == code, data
    assert isinstance(data["detail"], str)
    assert data["detail"]
    return data
