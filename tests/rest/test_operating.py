"""POST {id}/runs/{run}/…: what an operator does about a run, over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from lifecycle import clock
from lifecycle.models import EffectRun, OperatorAction
from lifecycle.runtime import create, fire
from tests.desk.models import Parcel
from tests.rest.conftest import assert_error, client_of

pytestmark = pytest.mark.django_db

DOORS = ["retry", "continue", "cancel"]


@pytest.fixture
def run(parcel: Parcel, user: User) -> EffectRun:
    return fire(parcel, "send", actor=user).runs[0]


@pytest.fixture
def desk(operator: User) -> APIClient:
    return client_of(operator)


def url(parcel: Parcel, run: Any, door: str) -> str:
    return f"/api/parcels/{parcel.pk}/runs/{getattr(run, 'pk', run)}/{door}/"


def test_a_failed_run_is_owed_again(desk: APIClient, parcel: Parcel, run: EffectRun, operator: User) -> None:
    EffectRun.objects.update(status="failed", attempts=3, finished_at=clock.now())
    response = desk.post(url(parcel, run, "retry"), {"reason": "The printer is back."}, format="json")
    assert response.status_code == 200
    assert response.json()["runs"][0]["status"] == "queued"
    deed = OperatorAction.objects.get()
    assert (deed.action, deed.run_id, deed.actor_id, deed.reason) == (
        "retry",
        run.pk,
        str(operator.pk),
        "The printer is back.",
    )


def test_a_queued_run_is_cancelled(desk: APIClient, parcel: Parcel, run: EffectRun) -> None:
    response = desk.post(url(parcel, run, "cancel"), {}, format="json")
    assert response.status_code == 200
    assert response.json()["runs"][0]["status"] == "cancelled"


@pytest.mark.parametrize(
    ("door", "status", "body", "code"),
    [
        ("retry", "succeeded", {}, "run_settled"),
        ("cancel", "succeeded", {}, "run_settled"),
        ("continue", "succeeded", {}, "nothing_to_continue"),
        ("retry", "queued", {}, "run_queued"),
    ],
)
def test_what_does_not_fit_the_run_is_a_conflict(
    desk: APIClient,
    parcel: Parcel,
    run: EffectRun,
    unchanged: Callable[[], Any],
    door: str,
    status: str,
    body: dict[str, Any],
    code: str,
) -> None:
    EffectRun.objects.update(status=status)
    before = unchanged()
    assert_error(desk.post(url(parcel, run, door), body, format="json"), 409, code)
    assert unchanged() == before


def test_a_leased_run_is_not_touched_without_saying_so(desk: APIClient, parcel: Parcel, run: EffectRun) -> None:
    far = clock.now().replace(year=clock.now().year + 1, day=1)
    EffectRun.objects.update(status="running", lease_until=far, leased_by="w", fence=1)
    assert_error(desk.post(url(parcel, run, "cancel"), {}, format="json"), 409, "run_busy")
    without = assert_error(desk.post(url(parcel, run, "cancel"), {"force": True}, format="json"), 400, "invalid_input")
    assert [problem["field"] for problem in without["problems"]] == ["reason"]
    forced = desk.post(url(parcel, run, "cancel"), {"force": True, "reason": "It hangs."}, format="json")
    assert forced.json()["runs"][0]["status"] == "cancelled"
    assert OperatorAction.objects.get().forced is True


def test_a_follow_up_that_is_still_refused_is_a_conflict_and_its_try_is_kept(
    desk: APIClient, parcel: Parcel, run: EffectRun
) -> None:
    EffectRun.objects.update(
        status="succeeded", outcome="succeeded", result={"label": "x" * 101}, follow_up="abandoned", fence=1
    )
    response = desk.post(url(parcel, run, "continue"), {"reason": "Try."}, format="json")
    data = assert_error(response, 409, "invalid_input")
    assert [problem["field"] for problem in data["problems"]] == ["label"]
    assert OperatorAction.objects.get().action == "continue"
    parcel.refresh_from_db()
    assert parcel.status == "labelling"


def test_a_waiting_follow_up_is_continued(desk: APIClient, parcel: Parcel, run: EffectRun) -> None:
    EffectRun.objects.update(
        status="succeeded", outcome="succeeded", result={"label": "L-1"}, follow_up="abandoned", fence=1
    )
    response = desk.post(url(parcel, run, "continue"), {}, format="json")
    assert response.status_code == 200
    assert (response.json()["state"], response.json()["record"]["label"]) == ("sent", "L-1")


@pytest.mark.parametrize("door", DOORS)
def test_operating_needs_its_own_permission(
    api: APIClient, parcel: Parcel, run: EffectRun, unchanged: Callable[[], Any], door: str
) -> None:
    before = unchanged()
    assert_error(
        api.post(url(parcel, run, door), {"force": True, "reason": "x"}, format="json"), 403, "permission_denied"
    )
    # Not even whether there is such a run is told.
    assert_error(api.post(url(parcel, 999, door), {}, format="json"), 403, "permission_denied")
    assert unchanged() == before


@pytest.mark.parametrize("door", DOORS)
def test_a_run_of_another_record_is_not_found(
    desk: APIClient, parcel: Parcel, run: EffectRun, user: User, unchanged: Callable[[], Any], door: str
) -> None:
    other = create(Parcel(), actor=user)
    before = unchanged()
    assert_error(desk.post(url(other, run, door), {}, format="json"), 404, "not_found")
    assert unchanged() == before


def test_a_run_of_another_lifecycle_with_the_same_record_id_is_not_found(
    desk: APIClient, parcel: Parcel, run: EffectRun
) -> None:
    EffectRun.objects.update(lifecycle="tickets")
    assert_error(desk.post(url(parcel, run, "cancel"), {}, format="json"), 404, "not_found")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("number", ["0", "abc", "-1", "1e2", "9" * 18, "9" * 40, "%00", "²"])
def test_a_run_that_cannot_be_is_not_found(desk: APIClient, parcel: Parcel, number: str, door: str) -> None:
    assert_error(desk.post(url(parcel, number, door), {}, format="json"), 404, "not_found")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"reason": 1}, "reason"),
        ({"reason": "x" * 501}, "reason"),
        ({"reason": "a\x00b"}, "reason"),
        ({"force": "yes"}, "force"),
        ({"force": 1}, "force"),
        ({"resaon": "x"}, "resaon"),
        ([], ""),
    ],
)
def test_a_body_that_does_not_fit_changes_nothing(
    desk: APIClient,
    parcel: Parcel,
    run: EffectRun,
    unchanged: Callable[[], Any],
    door: str,
    body: Any,
    field: str,
) -> None:
    before = unchanged()
    response = desk.post(url(parcel, run, door), body, format="json")
    data = assert_error(response, 400, "invalid_input")
    assert [problem["field"] for problem in data["problems"]] == [field]
    assert unchanged() == before


@pytest.mark.parametrize("door", DOORS)
def test_other_methods_are_not_allowed(desk: APIClient, parcel: Parcel, run: EffectRun, door: str) -> None:
    assert_error(desk.get(url(parcel, run, door)), 405, "method_not_allowed")
