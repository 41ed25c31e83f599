"""Who may read what an exception said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from lifecycle import Fail, Permanent
from lifecycle.execution.drain import drain
from lifecycle.models import Run
from lifecycle.runtime import fire
from lifecycle.testing import travel
from tests.rest.conftest import _endpoints, client_of, operator, parcel, user
from tests.support.models import Parcel

__all__ = ["_endpoints", "operator", "parcel", "user"]  # fixtures


@pytest.mark.row("K19")
@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ConnectionError("postgres://app:hunter2@10.0.0.7 refused"), False),
        (Fail("no_service", "Not to hunter2 Street."), True),
        (Permanent("The label printer of hunter2 is gone."), True),
    ],
    ids=repr,
)
def test_what_an_exception_said_is_for_operators_and_what_an_effect_says_for_readers(
    parcel: Parcel, user: User, operator: User, behave: dict[str, Any], error: Exception, shown: bool
) -> None:
    def fails(ctx: Any) -> None:
        raise error

    behave["print_label"] = fails
    fire(parcel, "send", actor=user)
    for minutes in (0, 1, 2):
        with travel(minutes=minutes):
            drain()
    parcel.refresh_from_db()
    assert parcel.status == "stuck"

    for endpoint in ("runs", "lifecycle", "history"):
        address = f"/api/parcels/{parcel.pk}/{endpoint}/"
        told = client_of(user).get(address).json()
        told.pop("record", None)  # this process copies the text into a column of its own
        assert ("hunter2" in json.dumps(told)) is shown
        assert "hunter2" in client_of(operator).get(address).content.decode()


@pytest.mark.row("K19")
def test_why_a_follow_up_waits_is_for_operators(parcel: Parcel, user: User, operator: User) -> None:
    fire(parcel, "send", actor=user)
    Run.objects.update(follow_up="pending", follow_up_error="IntegrityError: hunter2")
    address = f"/api/parcels/{parcel.pk}/runs/"

    assert "hunter2" not in client_of(user).get(address).content.decode()
    assert "hunter2" in client_of(operator).get(address).content.decode()
