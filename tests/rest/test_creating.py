"""POST on the list: a record's creation over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from lifecycle.models import TransitionLog
from tests.rest.conftest import assert_error, client_of, user_with
from tests.rest.support import TicketViewSet
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db


def post(api: APIClient, body: Any, **headers: str) -> Any:
    return api.post("/api/tickets/", body, format="json", headers=headers)


def test_creation_answers_the_view_and_begins_the_history(api: APIClient, user: User) -> None:
    response = post(api, {"title": "Smoke", "request_id": "r-1"})
    assert response.status_code == 201
    data = response.json()
    assert (data["state"], data["version"], data["replayed"]) == ("open", 1, False)
    assert data["record"]["title"] == "Smoke"
    entry = TransitionLog.objects.get()
    assert (entry.transition, entry.actor_id, entry.request_id) == ("$create", str(user.pk), "r-1")
    assert entry.record_id == str(Ticket.objects.get().pk)


def test_a_repeated_creation_answers_the_first_record(api: APIClient, unchanged: Callable[[], Any]) -> None:
    first = post(api, {"title": "Smoke"}, **{"Idempotency-Key": "r-1"})
    before = unchanged()
    again = post(api, {"title": "Smoke", "request_id": "r-1"})
    assert again.status_code == 200
    assert again.json()["replayed"] is True
    assert again.json()["record"]["id"] == first.json()["record"]["id"]
    assert unchanged() == before


@pytest.mark.parametrize("who", ["same", "other"])
def test_a_request_id_spent_on_something_else_is_refused(
    api: APIClient, unchanged: Callable[[], Any], who: str
) -> None:
    post(api, {"title": "Smoke", "request_id": "r-1"})
    before = unchanged()
    client, title = (api, "Fire") if who == "same" else (client_of(user_with("other")), "Smoke")
    assert_error(post(client, {"title": title, "request_id": "r-1"}), 422, "request_reused")
    assert unchanged() == before


def test_a_repeat_does_not_reach_past_the_callers_scope(api: APIClient) -> None:
    post(api, {"title": "Smoke", "request_id": "r-1"})
    Ticket.objects.update(title="Secret")
    assert_error(post(api, {"title": "Smoke", "request_id": "r-1"}), 404, "not_found")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": "x" * 101}, "title"),
        ({"titel": "Smoke"}, "titel"),
        ({"title": "Smoke", "status": "closed"}, "status"),
        ({"title": "Smoke", "lifecycle_version": 7}, "lifecycle_version"),
        ({"title": ["Smoke"]}, "title"),
        ({"priority": -1}, "priority"),
        ({"priority": "high"}, "priority"),
        ({"priority": 10**30}, "priority"),
        ({"agent": 999}, "agent"),
        ({"title": "a\x00b"}, "title"),
        ({"request_id": "$x"}, "request_id"),
        ({"request_id": ""}, "request_id"),
        ({"request_id": 1}, "request_id"),
        ([], ""),
        ("x", ""),
    ],
)
def test_a_body_that_does_not_fit_creates_nothing(
    api: APIClient, unchanged: Callable[[], Any], body: Any, field: str
) -> None:
    before = unchanged()
    data = assert_error(post(api, body), 400, "invalid_input")
    assert {problem["field"] for problem in data["problems"]} == {field}
    assert unchanged() == before


def test_read_only_fields_are_ignored_as_everywhere_in_drf(api: APIClient) -> None:
    response = post(api, {"id": 12345, "title": "Smoke", "answer": "none"})
    assert response.status_code == 201
    assert response.json()["record"]["answer"] == ""


def test_malformed_json_creates_nothing(api: APIClient, unchanged: Callable[[], Any]) -> None:
    before = unchanged()
    response = api.generic("POST", "/api/tickets/", b"{", content_type="application/json")
    assert_error(response, 400, "parse_error")
    assert unchanged() == before


def test_values_of_the_views_own_join_the_new_record(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TicketViewSet, "get_creation_values", lambda self, serializer: {"note": "by the view"})
    assert post(api, {"title": "Smoke"}).json()["record"]["note"] == "by the view"


def test_a_viewset_may_leave_creation_out(api: APIClient, unchanged: Callable[[], Any]) -> None:
    before = unchanged()
    assert_error(api.post("/api/picky/", {"title": "Smoke"}, format="json"), 405, "method_not_allowed")
    assert unchanged() == before


def test_the_other_actions_of_a_viewset_keep_their_own_errors(api: APIClient, parcel: Any) -> None:
    response = api.patch(f"/api/parcels/{parcel.pk}/", {"label": "x" * 101}, format="json")
    assert response.status_code == 400
    assert set(response.json()) == {"label"}
    assert api.get("/api/parcels/7/").json().keys() == {"detail"}
