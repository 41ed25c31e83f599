"""GET lifecycle/…: the lists for operators."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from lifecycle import SYSTEM, clock
from lifecycle.models import Run
from lifecycle.runtime import create, fire
from tests.rest.conftest import assert_error, client_of
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db


@pytest.fixture
def operators(operator: User) -> APIClient:
    return client_of(operator)


@pytest.fixture
def runs(db: None) -> list[Run]:
    found = []
    for _ in range(3):
        found += fire(create(Parcel(), actor=SYSTEM), "send", actor=SYSTEM).runs
    found += fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM).runs
    Run.objects.filter(pk=found[0].pk).update(status="failed", error_code="no_paper", follow_up="abandoned")
    return found


@pytest.mark.parametrize("endpoint", ["runs", "definitions"])
def test_only_operators_come_in(api: APIClient, endpoint: str) -> None:
    assert_error(APIClient().get(f"/lifecycle/{endpoint}/"), 403, "not_authenticated")
    assert_error(api.get(f"/lifecycle/{endpoint}/"), 403, "permission_denied")
    assert_error(api.post(f"/lifecycle/{endpoint}/", {}, format="json"), 403, "permission_denied")


@pytest.mark.parametrize("endpoint", ["runs", "definitions"])
def test_they_are_only_read(operators: APIClient, endpoint: str) -> None:
    assert_error(operators.post(f"/lifecycle/{endpoint}/", {}, format="json"), 405, "method_not_allowed")


def test_every_definition_is_told(operators: APIClient) -> None:
    assert {"tickets", "parcels"} <= {one["name"] for one in operators.get("/lifecycle/definitions/").json()}


def test_all_runs_are_listed_newest_first(operators: APIClient, runs: list[Run]) -> None:
    results = operators.get("/lifecycle/runs/").json()["results"]
    assert [one["id"] for one in results] == [run.pk for run in reversed(runs)]
    assert results[0]["lifecycle"] == "parcels"
    assert results[0]["record_id"] == runs[-1].record_id
    assert results[0]["known_effect"] is True


def test_runs_of_unknown_effects_are_marked(operators: APIClient, runs: list[Run]) -> None:
    Run.objects.update(lifecycle="gone")
    assert {one["known_effect"] for one in operators.get("/lifecycle/runs/").json()["results"]} == {False}


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("", 4),
        ("status=failed", 1),
        ("status=failed&status=queued", 4),
        ("effect=refund_postage", 1),
        ("lifecycle=parcels", 4),
        ("lifecycle=tickets", 0),
        ("error_code=no_paper", 1),
        ("follow_up=abandoned", 1),
        ("status=failed&effect=refund_postage", 0),
    ],
)
def test_runs_are_filtered(operators: APIClient, runs: list[Run], query: str, number: int) -> None:
    assert len(operators.get(f"/lifecycle/runs/?{query}").json()["results"]) == number


def test_runs_are_filtered_by_record_and_age(operators: APIClient, runs: list[Run]) -> None:
    def found(**query: str) -> list[int]:
        return [one["id"] for one in operators.get("/lifecycle/runs/", query).json()["results"]]

    assert found(record_id=runs[1].record_id) == [runs[1].pk]
    Run.objects.filter(pk=runs[2].pk).update(created_at=clock.now() - timedelta(days=3))
    yesterday = (clock.now() - timedelta(days=1)).isoformat()
    assert found(created_before=yesterday) == [runs[2].pk]
    assert len(found(created_after=yesterday)) == 3


@pytest.mark.parametrize(
    ("query", "field", "hint"),
    [
        ("staus=failed", "staus", "Did you mean 'status'?"),
        ("status=faild", "status", "Did you mean 'failed'?"),
        ("follow_up=later", "follow_up", "Known: none"),
        ("created_before=yesterday", "created_before", "2030-01-31"),
        ("created_before=2030-13-01T00:00:00Z", "created_before", "month"),
        ("effect=%00", "effect", "NUL"),
    ],
)
def test_a_filter_that_cannot_be_is_refused(operators: APIClient, query: str, field: str, hint: str) -> None:
    data = assert_error(operators.get(f"/lifecycle/runs/?{query}"), 400, "invalid_input")
    [problem] = data["problems"]
    assert problem["field"] == field
    assert hint in problem["message"]


@pytest.mark.parametrize(
    "moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2020-01-01T00:00:00+21:56"]
)
def test_whatever_iso_8601_can_say_is_a_moment(operators: APIClient, moment: str) -> None:
    assert operators.get("/lifecycle/runs/", {"created_before": moment}).status_code == 200


def test_a_page_costs_one_statement_however_long_it_is(operators: APIClient, runs: list[Run]) -> None:
    operators.get("/lifecycle/runs/")
    with CaptureQueriesContext(connection) as sent:
        operators.get("/lifecycle/runs/")
    assert len(sent) == 1
