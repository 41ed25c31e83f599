"""GET on the list: a project's own list, with the lifecycle's filters and what can be done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from lifecycle import SYSTEM, clock
from lifecycle.models import Run
from lifecycle.runtime import create, fire, register_guard
from tests.rest.conftest import assert_error, client_of, user_with
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db


def titles(api: APIClient, query: Any) -> set[str]:
    response = api.get("/api/listed/", query)
    assert response.status_code == 200, response.content
    return {one["title"] for one in response.json()}


@pytest.fixture
def tickets(user: User) -> dict[str, Ticket]:
    made = {name: create(Ticket(title=name), actor=user) for name in ("open", "waiting", "solved")}
    fire(made["waiting"], "ask", actor=SYSTEM)
    fire(made["solved"], "solve", actor=SYSTEM, input={"answer": "Water."})
    return made


def test_records_are_found_by_their_state(api: APIClient, tickets: Any) -> None:
    assert titles(api, {"state": "open"}) == {"open"}
    assert titles(api, {"state": ["open", "solved"]}) == {"open", "solved"}
    assert titles(api, {}) == {"open", "waiting", "solved"}


def test_a_projects_own_filters_stay(api: APIClient, tickets: Any) -> None:
    assert titles(api, {"title": "open", "state": "solved"}) == set()
    assert titles(api, {"title": "open"}) == {"open"}


def test_records_are_found_by_when_they_came_to_their_state(api: APIClient, tickets: dict[str, Ticket]) -> None:
    start = clock.now()
    with clock.replaced(lambda: start - timedelta(days=3)):
        fire(tickets["open"], "touch", actor=SYSTEM)
    yesterday = (start - timedelta(days=1)).isoformat()
    assert titles(api, {"entered_before": yesterday}) == {"open"}
    assert titles(api, {"entered_after": yesterday}) == {"waiting", "solved"}


def test_records_are_found_by_their_failed_runs(operator: User) -> None:
    good, bad = (create(Parcel(), actor=SYSTEM) for _ in range(2))
    for parcel in (good, bad):
        fire(parcel, "send", actor=SYSTEM)
    Run.objects.filter(record_id=str(bad.pk)).update(status="dead")
    client = client_of(operator)

    def found(query: Any) -> list[str]:
        return [one["id"] for one in client.get("/api/parcels-listed/", query).json()]

    assert found({"has_failed_run": "true"}) == [str(bad.pk)]
    assert found({"has_failed_run": "false"}) == [str(good.pk)]
    Run.objects.filter(record_id=str(bad.pk)).update(status="queued")  # retried
    assert found({"has_failed_run": "true"}) == []


def test_records_are_found_by_how_long_a_follow_up_waits(operator: User) -> None:
    parcels = [create(Parcel(), actor=SYSTEM) for _ in range(3)]
    now = clock.now()
    for parcel, days, follow_up in zip(parcels, (3, 0, 3), ("pending", "pending", "applied"), strict=True):
        fire(parcel, "send", actor=SYSTEM)
        Run.objects.filter(record_id=str(parcel.pk)).update(
            status="succeeded", follow_up=follow_up, finished_at=now - timedelta(days=days)
        )
    yesterday = (now - timedelta(days=1)).isoformat()
    found = client_of(operator).get("/api/parcels-listed/", {"waiting_since": yesterday}).json()
    assert [one["id"] for one in found] == [str(parcels[0].pk)]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=opne", "state"),
        ("state=open&state=x", "state"),
        ("entered_before=yesterday", "entered_before"),
        ("waiting_since=%00", "waiting_since"),
    ],
)
def test_a_filter_value_that_cannot_be_is_a_400(api: APIClient, query: str, field: str) -> None:
    response = api.get(f"/api/listed/?{query}")
    assert response.status_code == 400
    assert set(response.json()) == {field}


@pytest.mark.parametrize(
    "moment",
    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00", "2020-01-01T00:00:00+21:56"],
)
@pytest.mark.parametrize("name", ["entered_before", "entered_after", "waiting_since"])
def test_whatever_iso_8601_can_say_is_a_moment(api: APIClient, name: str, moment: str) -> None:
    assert api.get("/api/listed/", {name: moment}).status_code == 200


def test_a_filter_that_cannot_be_is_told_in_the_one_error_body_at_the_lifecycles_endpoints(
    api: APIClient, tickets: dict[str, Ticket]
) -> None:
    response = api.get(f"/api/listed/{tickets['open'].pk}/lifecycle/?state=x")
    data = assert_error(response, 400, "invalid_input")
    assert [problem["field"] for problem in data["problems"]] == ["state"]


# What can be done --------------------------------------------------------------------------------


@pytest.fixture
def parameters_are_asked() -> Iterator[None]:
    undo = register_guard("tickets", "ask", lambda ctx: ctx.parameters.reminders)
    yield
    undo()


def test_a_list_says_what_can_be_done_with_each_record(api: APIClient, tickets: dict[str, Ticket]) -> None:
    for row in api.get("/api/listed/").json():
        view = api.get(f"/api/listed/{row['id']}/lifecycle/").json()
        assert row["available"] == view["available"]
        assert row["available"]


def test_a_list_of_fifty_costs_what_a_list_of_two_costs(user: User, parameters_are_asked: None) -> None:
    """Permissions, parameters and guards included."""
    client = APIClient()
    client.force_login(user)

    def cost() -> int:
        with CaptureQueriesContext(connection) as sent:
            rows = client.get("/api/listed/").json()
        assert all(row["available"] for row in rows)
        return len(sent)

    for number in range(2):
        create(Ticket(title=f"t{number}"), actor=user)
    few = cost()
    for number in range(48):
        create(Ticket(title=f"u{number}"), actor=user)
    assert len(client.get("/api/listed/").json()) == 50
    assert cost() == few


def test_the_permission_of_one_transition_is_shown_in_a_list(user: User, ticket: Ticket) -> None:
    [row] = client_of(user_with("other")).get("/api/listed/").json()
    shown = {one["name"]: one for one in row["available"]}
    assert shown["ask"]["allowed"] is False
    assert shown["ask"]["refusals"][0]["code"] == "not_monday"
    assert shown["touch"]["allowed"] is True
