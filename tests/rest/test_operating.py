"""POST {id}/runs/{run}/…: what an operator does about a run, over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from lifecycle import clock
from lifecycle.models import OperatorAction, Run
from lifecycle.runtime import create, fire
from tests.rest.conftest import assert_error, client_of
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db

ENDPOINTS = ["retry", "continue", "cancel"]


@pytest.fixture
def run(parcel: Parcel, user: User) -> Run:
    return fire(parcel, "send", actor=user).runs[0]


@pytest.fixture
def operators(operator: User) -> APIClient:
    return client_of(operator)


def url(parcel: Parcel, run: Any, endpoint: str) -> str:
    return f"/api/parcels/{parcel.pk}/runs/{getattr(run, 'pk', run)}/{endpoint}/"


def test_a_failed_run_is_enqueued_again(operators: APIClient, parcel: Parcel, run: Run, operator: User) -> None:
    Run.objects.update(status="failed", attempts=3, finished_at=clock.now())
    response = operators.post(url(parcel, run, "retry"), {"reason": "The printer is back."}, format="json")
    assert response.status_code == 200
    assert response.json()["runs"][0]["status"] == "queued"
    operator_action = OperatorAction.objects.get()
    assert (operator_action.action, operator_action.run_id, operator_action.actor_id, operator_action.reason) == (
        "retry",
        run.pk,
        str(operator.pk),
        "The printer is back.",
    )


def test_a_queued_run_is_cancelled(operators: APIClient, parcel: Parcel, run: Run) -> None:
    response = operators.post(url(parcel, run, "cancel"), {}, format="json")
    assert response.status_code == 200
    assert response.json()["runs"][0]["status"] == "cancelled"


@pytest.mark.parametrize(
    ("endpoint", "status", "body", "code"),
    [
        ("retry", "succeeded", {}, "run_settled"),
        ("cancel", "succeeded", {}, "run_settled"),
        ("continue", "succeeded", {}, "nothing_to_continue"),
        ("retry", "queued", {}, "run_queued"),
    ],
)
def test_what_does_not_fit_the_run_is_a_conflict(
    operators: APIClient,
    parcel: Parcel,
    run: Run,
    unchanged: Callable[[], Any],
    endpoint: str,
    status: str,
    body: dict[str, Any],
    code: str,
) -> None:
    Run.objects.update(status=status)
    before = unchanged()
    assert_error(operators.post(url(parcel, run, endpoint), body, format="json"), 409, code)
    assert unchanged() == before


def test_a_leased_run_is_not_touched_without_saying_so(operators: APIClient, parcel: Parcel, run: Run) -> None:
    far = clock.now().replace(year=clock.now().year + 1, day=1)
    Run.objects.update(status="running", lease_until=far, leased_by="w", fence=1)
    assert_error(operators.post(url(parcel, run, "cancel"), {}, format="json"), 409, "run_busy")
    without = assert_error(
        operators.post(url(parcel, run, "cancel"), {"force": True}, format="json"), 400, "invalid_input"
    )
    assert [problem["field"] for problem in without["problems"]] == ["reason"]
    forced = operators.post(url(parcel, run, "cancel"), {"force": True, "reason": "It hangs."}, format="json")
    assert forced.json()["runs"][0]["status"] == "cancelled"
    assert OperatorAction.objects.get().forced is True


def test_a_follow_up_that_is_still_refused_is_a_conflict_and_its_try_is_kept(
    operators: APIClient, parcel: Parcel, run: Run
) -> None:
    Run.objects.update(
        status="succeeded", outcome="succeeded", result={"label": "x" * 101}, follow_up="abandoned", fence=1
    )
    response = operators.post(url(parcel, run, "continue"), {"reason": "Try."}, format="json")
    data = assert_error(response, 409, "invalid_input")
    assert [problem["field"] for problem in data["problems"]] == ["label"]
    assert OperatorAction.objects.get().action == "continue"
    parcel.refresh_from_db()
    assert parcel.status == "labelling"


def test_a_waiting_follow_up_is_continued(operators: APIClient, parcel: Parcel, run: Run) -> None:
    Run.objects.update(status="succeeded", outcome="succeeded", result={"label": "L-1"}, follow_up="abandoned", fence=1)
    response = operators.post(url(parcel, run, "continue"), {}, format="json")
    assert response.status_code == 200
    assert (response.json()["state"], response.json()["record"]["label"]) == ("sent", "L-1")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_operating_needs_its_own_permission(
    api: APIClient, parcel: Parcel, run: Run, unchanged: Callable[[], Any], endpoint: str
) -> None:
    before = unchanged()
    assert_error(
        api.post(url(parcel, run, endpoint), {"force": True, "reason": "x"}, format="json"), 403, "permission_denied"
    )
    # Not even whether there is such a run is told.
    assert_error(api.post(url(parcel, 999, endpoint), {}, format="json"), 403, "permission_denied")
    assert unchanged() == before


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_run_of_another_record_is_not_found(
    operators: APIClient, parcel: Parcel, run: Run, user: User, unchanged: Callable[[], Any], endpoint: str
) -> None:
    other = create(Parcel(), actor=user)
    before = unchanged()
    assert_error(operators.post(url(other, run, endpoint), {}, format="json"), 404, "not_found")
    assert unchanged() == before


def test_a_run_of_another_lifecycle_with_the_same_record_id_is_not_found(
    operators: APIClient, parcel: Parcel, run: Run
) -> None:
    Run.objects.update(lifecycle="tickets")
    assert_error(operators.post(url(parcel, run, "cancel"), {}, format="json"), 404, "not_found")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("number", ["0", "abc", "-1", "1e2", "9" * 18, "9" * 40, "%00", "²"])
def test_a_run_that_cannot_be_is_not_found(operators: APIClient, parcel: Parcel, number: str, endpoint: str) -> None:
    assert_error(operators.post(url(parcel, number, endpoint), {}, format="json"), 404, "not_found")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
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
    operators: APIClient,
    parcel: Parcel,
    run: Run,
    unchanged: Callable[[], Any],
    endpoint: str,
    body: Any,
    field: str,
) -> None:
    before = unchanged()
    response = operators.post(url(parcel, run, endpoint), body, format="json")
    data = assert_error(response, 400, "invalid_input")
    assert [problem["field"] for problem in data["problems"]] == [field]
    assert unchanged() == before


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_other_methods_are_not_allowed(operators: APIClient, parcel: Parcel, run: Run, endpoint: str) -> None:
    assert_error(operators.get(url(parcel, run, endpoint)), 405, "method_not_allowed")
