"""GET: the definition, the view, the pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from lifecycle import clock
from lifecycle.models import ParameterOverride, Run, TransitionLog
from lifecycle.runtime import create, fire
from tests.rest.conftest import assert_error, client_of, user_with
from tests.rest.support import TicketViewSet
from tests.support.models import Agent, Parcel, Ticket

pytestmark = pytest.mark.django_db


def view(api: APIClient, ticket: Ticket, tag: str | None = None) -> Any:
    headers = {"If-None-Match": tag} if tag is not None else {}
    return api.get(f"/api/tickets/{ticket.pk}/lifecycle/", headers=headers)


# The definition ----------------------------------------------------------------------------------


def test_the_definition_is_told_in_full(api: APIClient) -> None:
    data = api.get("/api/tickets/lifecycle/").json()

    assert (data["name"], data["initial"], data["final"]) == ("tickets", ["open", "escalated"], ["closed"])
    assert [state["name"] for state in data["states"]] == ["open", "waiting", "solved", "escalated", "closed"]
    transitions = {one["name"]: one for one in data["transitions"]}
    assert transitions["ask"]["label"] == "Ask the customer"
    assert transitions["close"]["manual"] is False
    assert transitions["triage"]["target"] == ["waiting", "escalated"]
    assert transitions["solve"]["source"] == ["open", "waiting", "escalated"]
    assert data["timeouts"] == [
        {"name": "close_solved", "transition": "close", "when": ["solved"], "after": 2 * 86400.0}
    ]
    assert data["deadlines"][0]["at"] == "due_on"
    assert data["reminders"][0]["repeat"] == 8 * 3600.0
    assert data["parameters"] == [{"name": "patience", "value": 2 * 86400.0}, {"name": "reminders", "value": True}]
    assert {effect["name"] for effect in data["effects"]} == {"tell_agent", "nudge"}
    assert "stateDiagram" in data["diagram"]


def test_the_inputs_of_transitions_are_json_schemas(api: APIClient) -> None:
    transitions = {one["name"]: one["input"] for one in api.get("/api/tickets/lifecycle/").json()["transitions"]}
    for schema in transitions.values():
        Draft202012Validator.check_schema(schema)
    assert transitions["solve"] == {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "maxLength": 500},
            "priority": {"type": "integer", "minimum": 0, "maximum": 9},
        },
        "required": ["answer"],
        "additionalProperties": False,
    }
    assert transitions["ask"]["properties"]["note"]["maxLength"] == 200
    assert transitions["touch"]["properties"] == {"token": {"writeOnly": True}}


def test_an_overridden_parameter_is_told_as_it_is_now(api: APIClient) -> None:
    ParameterOverride.objects.create(lifecycle="tickets", name="reminders", value=False, updated_at=clock.now())
    data = api.get("/api/tickets/lifecycle/").json()
    assert {"name": "reminders", "value": False} in data["parameters"]


def test_the_address_of_the_definition_is_no_record(api: APIClient) -> None:
    assert api.get("/api/picky/lifecycle/").json()["name"] == "tickets"


# The view ----------------------------------------------------------------------------------------


def test_a_view_holds_everything_a_page_needs(api: APIClient, ticket: Ticket) -> None:
    response = view(api, ticket)
    assert response.status_code == 200
    data = response.json()
    assert set(data) == {"record", "state", "version", "available", "history", "runs"}
    assert data["record"]["title"] == ticket.title
    assert [one["name"] for one in data["available"]] == ["ask", "solve", "escalate", "touch", "triage"]
    escalate = data["available"][2]
    assert escalate["allowed"] is False
    assert [refusal["code"] for refusal in escalate["refusals"]] == ["permission_denied"]
    assert response["Cache-Control"] == "private, no-cache"


def test_a_view_costs_the_same_however_long_the_history_is(api: APIClient, ticket: Ticket, user: User) -> None:
    """django-commons/django-simple-history #495, #1430: a query per entry."""
    view(api, ticket)  # the user's permissions are remembered from here on
    with CaptureQueriesContext(connection) as short:
        view(api, ticket)
    for _ in range(30):
        fire(ticket, "touch", actor=user)
    with CaptureQueriesContext(connection) as long:
        data = view(api, ticket).json()
    assert len(long) == len(short)
    assert [entry["version"] for entry in data["history"]] == list(range(31, 11, -1))


def test_nothing_changed_is_told_by_one_statement(api: APIClient, ticket: Ticket) -> None:
    tag = view(api, ticket)["ETag"]
    with CaptureQueriesContext(connection) as sent:
        response = view(api, ticket, tag)
    assert response.status_code == 304
    assert response.content == b""
    assert response["ETag"] == tag
    assert len(sent) == 1


def test_one_of_several_tags_is_enough(api: APIClient, ticket: Ticket) -> None:
    tag = view(api, ticket)["ETag"]
    assert view(api, ticket, f'"other", {tag}').status_code == 304
    assert view(api, ticket, '"other", W/"v1-00-0", nonsense').status_code == 200


def _touch(ticket: Ticket) -> None:
    fire(ticket, "touch", actor=User.objects.get(username="agent"))


def _edit(ticket: Ticket) -> None:
    Ticket.objects.filter(pk=ticket.pk).update(note="x")


def _enqueue(ticket: Ticket) -> None:
    entry, now = TransitionLog.objects.latest("id"), clock.now()
    Run.objects.create(
        entry=entry,
        lifecycle="tickets",
        record_id=str(ticket.pk),
        effect="nudge",
        available_at=now,
        created_at=now,
        updated_at=now,
    )


def _override(ticket: Ticket) -> None:
    ParameterOverride.objects.create(lifecycle="tickets", name="reminders", value=False, updated_at=clock.now())


@pytest.mark.parametrize("change", [_touch, _edit, _enqueue, _override])
def test_whatever_changes_makes_a_new_view(api: APIClient, ticket: Ticket, change: Any) -> None:
    tag = view(api, ticket)["ETag"]
    change(ticket)
    again = view(api, ticket, tag)
    assert again.status_code == 200
    assert again["ETag"] != tag


def test_a_run_that_only_changes_its_status_makes_a_new_view(api: APIClient, ticket: Ticket) -> None:
    _enqueue(ticket)
    tag = view(api, ticket)["ETag"]
    Run.objects.update(status="succeeded", finished_at=clock.now())  # even under a stopped clock
    assert view(api, ticket, tag).status_code == 200


def test_what_happens_to_other_records_makes_no_new_view(api: APIClient, ticket: Ticket, user: User) -> None:
    other = create(Ticket(), actor=user)
    tag = view(api, ticket)["ETag"]
    fire(other, "touch", actor=user)
    _enqueue(other)
    assert view(api, ticket, tag).status_code == 304


def test_a_tag_is_one_readers_in_one_language(api: APIClient, ticket: Ticket) -> None:
    tag = view(api, ticket)["ETag"]
    assert view(client_of(user_with("other")), ticket, tag).status_code == 200
    with translation.override("de"):
        assert view(api, ticket, tag).status_code == 200


def test_a_viewset_may_name_what_else_its_view_shows(
    api: APIClient, ticket: Ticket, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent.objects.create(name="Ada")
    monkeypatch.setattr(
        TicketViewSet, "get_fingerprint_parts", lambda self, record: list(Agent.objects.values_list("name"))
    )
    tag = view(api, ticket)["ETag"]
    assert view(api, ticket, tag).status_code == 304
    Agent.objects.filter(pk=agent.pk).update(name="Bob")
    assert view(api, ticket, tag).status_code == 200


def test_a_tag_is_not_trusted_for_long(api: APIClient, ticket: Ticket) -> None:
    """A guard may look at other rows and at the clock; no tag sees those."""
    start = clock.now()
    with clock.replaced(lambda: start):
        tag = view(api, ticket)["ETag"]
    with clock.replaced(lambda: start + timedelta(seconds=29)):
        assert view(api, ticket, tag).status_code == 304
    with clock.replaced(lambda: start + timedelta(seconds=32)):
        assert view(api, ticket, tag).status_code == 200


def test_a_uuid_key_and_another_lookup_column_have_tags_too(api: APIClient, parcel: Parcel, ticket: Ticket) -> None:
    for address in (f"/api/parcels/{parcel.pk}/lifecycle/", f"/api/picky/{ticket.title}/lifecycle/"):
        tag = api.get(address)["ETag"]
        assert api.get(address, headers={"If-None-Match": tag}).status_code == 304
    fire(parcel, "send", actor=User.objects.get(username="agent"))
    address = f"/api/parcels/{parcel.pk}/lifecycle/"
    tag = api.get(address)["ETag"]
    Run.objects.update(status="running", fence=1)
    assert api.get(address, headers={"If-None-Match": tag}).status_code == 200


# History and runs --------------------------------------------------------------------------------


def test_history_comes_newest_first_by_cursor(api: APIClient, ticket: Ticket, user: User) -> None:
    for _ in range(4):
        fire(ticket, "touch", actor=user)
    address: str | None = f"/api/tickets/{ticket.pk}/history/?page_size=2"
    seen: list[int] = []
    while address:
        page = api.get(address).json()
        assert len(page["results"]) <= 2
        seen += [entry["version"] for entry in page["results"]]
        address = page["next"]
    assert seen == [5, 4, 3, 2, 1]


def test_history_is_this_records_only(api: APIClient, ticket: Ticket, user: User) -> None:
    create(Ticket(), actor=user)
    results = api.get(f"/api/tickets/{ticket.pk}/history/").json()["results"]
    assert [entry["transition"] for entry in results] == ["$create"]


@pytest.mark.parametrize(
    "cursor", ["x", "cD1hYmM=", "cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk=", "cD0lMDA=", "🙈", "bz0tMQ=="]
)
def test_a_cursor_that_was_tampered_with_is_not_found(api: APIClient, ticket: Ticket, cursor: str) -> None:
    response = api.get(f"/api/tickets/{ticket.pk}/history/", {"cursor": cursor})
    assert response.status_code in (200, 404)
    if response.status_code == 404:
        assert_error(response, 404, "not_found")


def test_what_is_inside_a_run_is_for_operators(parcel: Parcel, user: User, operator: User) -> None:
    fire(parcel, "send", actor=user, request_id="mine")
    Run.objects.update(result={"secret": "yes"})
    address = f"/api/parcels/{parcel.pk}"
    for endpoint in ("runs", "lifecycle", "history"):
        told = client_of(user).get(f"{address}/{endpoint}/").content.decode()
        assert "secret" not in told
        assert "idempotency_key" not in told
        assert "mine" not in told
    told = client_of(operator).get(f"{address}/runs/").json()["results"][0]
    assert told["result"] == {"secret": "yes"}
    assert client_of(operator).get(f"{address}/history/").json()["results"][0]["request_id"] == "mine"


def test_a_router_with_path_converters_reaches_every_endpoint(api: APIClient, ticket: Ticket) -> None:
    assert api.get(f"/converted/tickets/{ticket.pk}/lifecycle").status_code == 200
    assert api.post(f"/converted/tickets/{ticket.pk}/fire", {"transition": "ask"}, format="json").status_code == 200
    response = api.post(f"/converted/tickets/{ticket.pk}/runs/1/retry", {}, format="json")
    assert_error(response, 403, "permission_denied")
