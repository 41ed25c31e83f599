"""POST {id}/fire/: a transition by a person, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from lifecycle.models import TransitionLog
from lifecycle.runtime import fire, register_guard
from tests.rest.conftest import assert_error, client_of, user_with
from tests.support.lifecycles import ParcelLifecycle
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db


def url(ticket: Ticket, endpoint: str = "fire") -> str:
    return f"/api/tickets/{ticket.pk}/{endpoint}/"


def test_firing_answers_the_view_after_the_transition(api: APIClient, ticket: Ticket, user: User) -> None:
    response = api.post(url(ticket), {"transition": "ask", "input": {"note": "Which printer?"}}, format="json")

    assert response.status_code == 200
    data = response.json()
    assert data["replayed"] is False
    assert (data["state"], data["version"]) == ("waiting", 2)
    assert data["record"]["note"] == "Which printer?"
    assert [entry["transition"] for entry in data["history"]] == ["ask", "$create"]
    assert data["history"][0]["actor"] == {"kind": "user", "id": str(user.pk), "label": "agent"}
    ticket.refresh_from_db()
    assert ticket.status == "waiting"


def test_the_answer_of_a_transition_is_what_a_get_answers_next(api: APIClient, ticket: Ticket) -> None:
    fired = api.post(url(ticket), {"transition": "ask"}, format="json")
    seen = api.get(url(ticket, "lifecycle"), headers={"If-None-Match": fired["ETag"]})
    assert seen.status_code == 304


def test_a_repeat_is_answered_as_the_first_and_writes_nothing(
    api: APIClient, ticket: Ticket, unchanged: Callable[[], Any]
) -> None:
    body = {"transition": "ask", "request_id": "click-1"}
    api.post(url(ticket), body, format="json")
    before = unchanged()

    again = api.post(url(ticket), body, format="json")

    assert again.status_code == 200
    assert again.json()["replayed"] is True
    assert unchanged() == before


@pytest.mark.parametrize("header", ["click-1", '"click-1"'])
def test_the_idempotency_key_header_is_the_request_id(api: APIClient, ticket: Ticket, header: str) -> None:
    api.post(url(ticket), {"transition": "ask"}, format="json", headers={"Idempotency-Key": header})
    again = api.post(url(ticket), {"transition": "ask", "request_id": "click-1"}, format="json")
    assert again.json()["replayed"] is True


def test_a_reused_request_id_is_told_apart_from_a_repeat(
    api: APIClient, ticket: Ticket, unchanged: Callable[[], Any]
) -> None:
    api.post(url(ticket), {"transition": "ask", "request_id": "k"}, format="json")
    before = unchanged()
    other = api.post(url(ticket), {"transition": "ask", "request_id": "k", "input": {"note": "x"}}, format="json")
    assert_error(other, 422, "request_reused")
    assert unchanged() == before


@pytest.mark.parametrize("value", ["1", '"1"', 'W/"1"', "*"])
def test_if_match_of_the_current_version_passes(api: APIClient, ticket: Ticket, value: str) -> None:
    response = api.post(url(ticket), {"transition": "ask"}, format="json", headers={"If-Match": value})
    assert response.status_code == 200


def test_the_etag_of_a_view_is_good_for_if_match(api: APIClient, ticket: Ticket) -> None:
    tag = api.get(url(ticket, "lifecycle"))["ETag"]
    first = api.post(url(ticket), {"transition": "touch"}, format="json", headers={"If-Match": tag})
    second = api.post(url(ticket), {"transition": "touch"}, format="json", headers={"If-Match": tag})
    assert first.status_code == 200
    assert_error(second, 409, "conflict")


@pytest.mark.parametrize(
    "request_", [{"data": {"expect_version": 7}}, {"headers": {"If-Match": '"7"'}}], ids=["body", "header"]
)
def test_a_stale_page_is_a_conflict(
    api: APIClient, ticket: Ticket, unchanged: Callable[[], Any], request_: dict[str, Any]
) -> None:
    before = unchanged()
    data = {"transition": "ask"} | request_.get("data", {})
    response = api.post(url(ticket), data, format="json", headers=request_.get("headers"))
    assert_error(response, 409, "conflict")
    assert unchanged() == before


BAD: list[tuple[Any, str, str]] = [
    ({}, "transition", "required"),
    ({"transition": ""}, "transition", "required"),
    ({"transition": None}, "transition", "required"),
    ({"transition": 7}, "transition", "invalid_type"),
    ({"transition": ["ask"]}, "transition", "invalid_type"),
    ({"transition": "aks"}, "transition", "unknown_transition"),
    ({"transition": "ask", "inputs": {}}, "inputs", "unknown_field"),
    ({"transition": "ask", "input": []}, "input", "invalid_type"),
    ({"transition": "ask", "input": "note"}, "input", "invalid_type"),
    ({"transition": "ask", "input": {"noet": "x"}}, "noet", "unknown"),
    ({"transition": "ask", "input": {"note": "x" * 201}}, "note", "max_length"),
    ({"transition": "ask", "request_id": ""}, "request_id", "invalid_request_id"),
    ({"transition": "ask", "request_id": "$run:1:succeeded"}, "request_id", "invalid_request_id"),
    ({"transition": "ask", "request_id": "x" * 201}, "request_id", "invalid_request_id"),
    ({"transition": "ask", "request_id": "a\x00b"}, "request_id", "invalid_characters"),
    ({"transition": "ask", "request_id": 7}, "request_id", "invalid_type"),
    ({"transition": "ask", "expect_version": "1"}, "expect_version", "invalid_type"),
    ({"transition": "ask", "expect_version": True}, "expect_version", "invalid_type"),
    ({"transition": "ask", "expect_version": -1}, "expect_version", "invalid_type"),
    ({"transition": "ask", "expect_version": 1.5}, "expect_version", "invalid_type"),
    ({"transition": "ask", "expect_version": 10**30}, "expect_version", "invalid_type"),
    ({"transition": "ask", "request_id": "a\nb"}, "request_id", "invalid_request_id"),
    ({"transition": "ask", "input": {"note": "a\x00b"}}, "note", "invalid_characters"),
]


@pytest.mark.parametrize(("body", "field", "code"), BAD, ids=[json.dumps(body)[:60] for body, _, _ in BAD])
def test_a_body_that_does_not_fit_names_the_field(
    api: APIClient, ticket: Ticket, unchanged: Callable[[], Any], body: Any, field: str, code: str
) -> None:
    before = unchanged()
    response = api.post(url(ticket), body, format="json")
    assert response.status_code == 400, response.content
    data = assert_error(response, 400, response.json()["code"])
    assert [(problem["field"], problem["code"]) for problem in data["problems"]] == [(field, code)]
    assert unchanged() == before


def test_unknown_names_come_with_the_nearest_right_one(api: APIClient, ticket: Ticket) -> None:
    transition = api.post(url(ticket), {"transition": "aks"}, format="json").json()["problems"][0]["message"]
    field = api.post(url(ticket), {"transition": "ask", "inptu": {}}, format="json").json()["problems"][0]["message"]
    assert "Did you mean 'ask'?" in transition
    assert "close" not in transition  # the system's own are nothing to offer a person
    assert "Did you mean 'input'?" in field


def test_every_problem_is_told_at_once(api: APIClient, ticket: Ticket) -> None:
    body = {"transition": 1, "input": 2, "request_id": "$", "expect_version": "x", "more": 1}
    data = assert_error(api.post(url(ticket), body, format="json"), 400, "invalid_input")
    assert {p["field"] for p in data["problems"]} == {"transition", "input", "request_id", "expect_version", "more"}


RAW: list[tuple[str, str, int]] = [
    ("{", "application/json", 400),
    ("", "application/json", 400),
    ("[]", "application/json", 400),
    ('"ask"', "application/json", 400),
    ("null", "application/json", 400),
    ("7", "application/json", 400),
    ('{"transition": NaN}', "application/json", 400),
    ("\xff\xfe", "application/json", 400),
    ("[" * 100_000, "application/json", 400),
    ('{"transition": "ask", "input": ' + '{"a":' * 200 + "1" + "}" * 201, "application/json", 400),
    ('{"transition": "ask", "input": {"note": "\\ud800"}}', "application/json", 400),
    ('{"transition": "ask", "input": {"\\udfff": "x"}}', "application/json", 400),
    ('{"transition": "ask", "request_id": "\\ud800"}', "application/json", 400),
    ("<transition>ask</transition>", "application/xml", 415),
    ("ask", "text/plain", 415),
    ("ask", "nonsense", 415),
]


@pytest.mark.parametrize(
    ("body", "content_type", "status"), RAW, ids=[f"{kind} {body[:30]!r}" for body, kind, _ in RAW]
)
def test_a_body_that_cannot_be_read_is_the_callers_fault(
    api: APIClient, ticket: Ticket, unchanged: Callable[[], Any], body: str, content_type: str, status: int
) -> None:
    before = unchanged()
    response = api.generic("POST", url(ticket), body.encode("latin-1", "ignore"), content_type=content_type)
    assert response.status_code == status, response.content
    assert_error(response, status, response.json()["code"])
    assert unchanged() == before


def test_a_huge_body_is_refused_by_its_length(api: APIClient, ticket: Ticket, unchanged: Callable[[], Any]) -> None:
    before = unchanged()
    response = api.post(url(ticket), {"transition": "ask", "input": {"note": "x" * 2_000_000}}, format="json")
    assert_error(response, 413, "body_too_large")
    assert unchanged() == before


def test_an_input_over_the_limit_is_refused(api: APIClient, ticket: Ticket, unchanged: Callable[[], Any]) -> None:
    before = unchanged()
    response = api.post(url(ticket), {"transition": "ask", "input": {"note": "x" * 70_000}}, format="json")
    assert_error(response, 400, "invalid_input")
    assert unchanged() == before


@pytest.mark.parametrize(
    ("body", "headers", "field"),
    [
        ({"request_id": "a"}, {"Idempotency-Key": "b"}, "request_id"),
        ({"expect_version": 1}, {"If-Match": '"2"'}, "expect_version"),
        ({}, {"If-Match": '"1", "2"'}, "If-Match"),
        ({}, {"If-Match": "yesterday"}, "If-Match"),
        ({}, {"Idempotency-Key": "$x"}, "Idempotency-Key"),
        ({}, {"Idempotency-Key": '""'}, "Idempotency-Key"),
    ],
)
def test_headers_that_contradict_or_do_not_fit_are_refused(
    api: APIClient,
    ticket: Ticket,
    unchanged: Callable[[], Any],
    body: dict[str, Any],
    headers: dict[str, str],
    field: str,
) -> None:
    before = unchanged()
    response = api.post(url(ticket), {"transition": "ask", **body}, format="json", headers=headers)
    data = assert_error(response, 400, "invalid_input")
    assert [problem["field"] for problem in data["problems"]] == [field]
    assert unchanged() == before


def test_body_and_header_may_say_the_same(api: APIClient, ticket: Ticket) -> None:
    response = api.post(
        url(ticket),
        {"transition": "ask", "request_id": "a", "expect_version": 1},
        format="json",
        headers={"Idempotency-Key": "a", "If-Match": '"1"'},
    )
    assert response.status_code == 200


@pytest.mark.parametrize("pk", ["0", "999999", "abc", "1e3", "9" * 40, "-1", "%00", "1%001", "🙈"])
@pytest.mark.parametrize("endpoint", ["fire", "lifecycle", "history", "runs", "runs/1/retry"])
def test_an_id_that_names_no_record_is_not_found(api: APIClient, ticket: Ticket, pk: str, endpoint: str) -> None:
    address = f"/api/tickets/{pk}/{endpoint}/"
    response = (
        api.post(address, {"transition": "ask"}, format="json")
        if "/" in endpoint or endpoint == "fire"
        else api.get(address)
    )
    assert_error(response, 404, "not_found")


@pytest.mark.parametrize("title", ["%00", "Printer%00", "nothing"])
def test_a_text_that_names_no_record_is_not_found(api: APIClient, ticket: Ticket, title: str) -> None:
    assert_error(api.get(f"/api/picky/{title}/lifecycle/"), 404, "not_found")


def test_a_parcels_id_that_is_no_uuid_is_not_found(api: APIClient, parcel: Parcel) -> None:
    assert_error(api.post("/api/parcels/7/fire/", {"transition": "send"}, format="json"), 404, "not_found")


def test_a_record_outside_the_queryset_is_not_found_before_anything_else(
    api: APIClient, user: User, unchanged: Callable[[], Any]
) -> None:
    """InvenTree PR 12693: object scope before anything is revealed."""
    secret = Ticket.objects.create(title="Secret merger")
    before = unchanged()
    for body in ({"transition": "ask"}, {"transition": "close"}, {"transition": "nonsense"}, {"nonsense": 1}, []):
        assert_error(api.post(url(secret), body, format="json"), 404, "not_found")
    for endpoint in ("lifecycle", "history", "runs"):
        assert_error(api.get(url(secret, endpoint)), 404, "not_found")
    assert unchanged() == before


@pytest.mark.parametrize("transition", ["close", "reply"])
def test_the_systems_own_transitions_are_forbidden_to_people(
    api: APIClient, ticket: Ticket, unchanged: Callable[[], Any], transition: str
) -> None:
    before = unchanged()
    data = assert_error(api.post(url(ticket), {"transition": transition}, format="json"), 403, "not_manual")
    assert [refusal["kind"] for refusal in data["refusals"]] == ["permission"]
    assert unchanged() == before


def test_a_missing_permission_never_reveals_the_guards_reasons(ticket: Ticket, unchanged: Callable[[], Any]) -> None:
    ticket.priority = 9
    ticket.save()
    stranger = client_of(user_with("stranger"))
    before = unchanged()

    response = stranger.post(url(ticket), {"transition": "solve", "input": {"nonsense": 1}}, format="json")

    data = assert_error(response, 403, "permission_denied")
    assert [refusal["kind"] for refusal in data["refusals"]] == ["permission"]
    assert data["problems"] == []
    assert "phone" not in response.content.decode()
    assert unchanged() == before


def test_a_missing_permission_outside_the_right_state_says_only_that(ticket: Ticket, user: User) -> None:
    fire(ticket, "solve", actor=user, input={"answer": "Water."})
    stranger = client_of(user_with("stranger"))
    response = stranger.post(url(ticket), {"transition": "solve"}, format="json")
    data = assert_error(response, 403, "permission_denied")
    assert [refusal["kind"] for refusal in data["refusals"]] == ["permission"]


def test_a_guards_permission_refusal_hides_the_other_guards_reasons(api: APIClient, ticket: Ticket) -> None:
    from lifecycle import Refuse

    undo = [
        register_guard("tickets", "touch", lambda ctx: Refuse("secret", "The customer is insolvent.")),
        register_guard("tickets", "touch", lambda ctx: Refuse("not_yours", "Not your ticket.", kind="permission")),
    ]
    try:
        data = assert_error(api.post(url(ticket), {"transition": "touch"}, format="json"), 403, "permission_denied")
        shown = api.get(url(ticket, "lifecycle")).json()["available"]
    finally:
        for one in undo:
            one()
    assert [refusal["code"] for refusal in data["refusals"]] == ["not_yours"]
    assert data["detail"] == "Not your ticket."
    assert "insolvent" not in json.dumps(shown)


def test_all_guards_reasons_are_told(api: APIClient, ticket: Ticket, unchanged: Callable[[], Any]) -> None:
    """stateless PR 423: one trip shows everything that is missing."""
    undo = [register_guard("tickets", "touch", lambda ctx, n=n: f"Reason {n}.") for n in (1, 2)]
    before = unchanged()
    try:
        response = api.post(url(ticket), {"transition": "touch"}, format="json")
    finally:
        for one in undo:
            one()
    assert response.status_code == 409
    assert [refusal["message"] for refusal in response.json()["refusals"]] == ["Reason 1.", "Reason 2."]
    assert unchanged() == before


def test_a_wrong_state_is_a_409_that_says_so(api: APIClient, ticket: Ticket) -> None:
    """django-commons/django-fsm-2 PR #98: a refusal is no 500."""
    data = assert_error(api.post(url(ticket), {"transition": "reopen"}, format="json"), 409, "invalid_state")
    assert data["refusals"][0]["params"] == {"transition": "reopen", "state": "open", "sources": ["solved"]}


def test_a_form_reports_every_field(api: APIClient, ticket: Ticket) -> None:
    body = {"transition": "solve", "input": {"priority": 12}}
    data = assert_error(api.post(url(ticket), body, format="json"), 400, "invalid_input")
    assert {(p["field"], p["code"]) for p in data["problems"]} == {("answer", "required"), ("priority", "max_value")}


@pytest.mark.parametrize("status", ["open", "waiting", "solved", "escalated", "closed"])
@pytest.mark.parametrize("permissions", [(), ("support.solve_ticket", "support.escalate_ticket")], ids=["none", "all"])
@pytest.mark.parametrize("priority", [1, 9])
def test_what_available_shows_is_what_fire_meets(
    db: None, status: str, permissions: tuple[str, ...], priority: int
) -> None:
    """django-fsm-2 PR 149: what a page hides must not run when posted, and what it offers must."""
    from lifecycle.models import writes

    client = client_of(user_with("someone", *permissions))
    inputs = {"solve": {"answer": "Water."}}
    with writes.creation_in_any_state():
        tickets = {
            name: Ticket.objects.create(status=status, priority=priority)
            for name in ("shown", "ask", "solve", "escalate", "touch", "reopen", "triage")
        }
    shown = {one["name"]: one for one in client.get(url(tickets.pop("shown"), "lifecycle")).json()["available"]}
    for name, ticket in tickets.items():
        response = client.post(url(ticket), {"transition": name, "input": inputs.get(name, {})}, format="json")
        if name not in shown:
            # Not offered in this state: refused, or a repeat of where it is already.
            assert response.status_code in (403, 409) or response.json().get("replayed")
        elif shown[name]["allowed"]:
            assert response.status_code == 200, (name, response.json())
        else:
            assert response.status_code in (403, 409)
            assert response.json()["refusals"] == shown[name]["refusals"]


def test_a_guard_that_raises_is_a_bug_and_stays_one(
    api: APIClient, ticket: Ticket, unchanged: Callable[[], Any]
) -> None:
    def broken(ctx: Any) -> bool:
        raise ZeroDivisionError

    undo, before = register_guard("tickets", "touch", broken), unchanged()
    try:
        with pytest.raises(ZeroDivisionError):
            api.post(url(ticket), {"transition": "touch"}, format="json")
    finally:
        undo()
    assert unchanged() == before


def test_a_secret_does_not_come_back(api: APIClient, ticket: Ticket) -> None:
    response = api.post(url(ticket), {"transition": "touch", "input": {"token": "hunter2"}}, format="json")
    assert response.status_code == 200
    assert "hunter2" not in response.content.decode()
    assert "hunter2" not in api.get(url(ticket, "history")).content.decode()


def test_a_record_that_leaves_the_callers_scope_is_still_answered(api: APIClient, ticket: Ticket) -> None:
    undo = register_guard(
        "tickets", "touch", lambda ctx: bool(Ticket.objects.filter(pk=ctx.record.pk).update(title="Secret"))
    )
    try:
        response = api.post(url(ticket), {"transition": "touch"}, format="json")
    finally:
        undo()
    assert response.status_code == 200
    assert response.json()["version"] == 2
    assert api.get(url(ticket, "lifecycle")).status_code == 404


# Who may call -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "endpoint"),
    [("post", "fire"), ("get", "lifecycle"), ("get", "history"), ("get", "runs"), ("post", "runs/1/cancel")],
)
def test_a_viewset_that_lets_everyone_in_still_asks_for_a_login_here(
    parcel: Parcel, method: str, endpoint: str
) -> None:
    anonymous = APIClient()
    assert anonymous.get(f"/api/parcels/{parcel.pk}/").status_code == 200
    response = getattr(anonymous, method)(f"/api/parcels/{parcel.pk}/{endpoint}/", format="json")
    assert_error(response, 403, "not_authenticated")


def test_nobody_creates_through_a_viewset_that_lets_everyone_in(db: None, unchanged: Callable[[], Any]) -> None:
    before = unchanged()
    assert_error(APIClient().post("/api/parcels/", {}, format="json"), 403, "not_authenticated")
    assert unchanged() == before


def test_an_empty_list_of_permissions_opens_the_endpoints(parcel: Parcel, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.rest.support import ParcelViewSet

    monkeypatch.setattr(ParcelViewSet, "lifecycle_permission_classes", [])
    response = APIClient().post(f"/api/parcels/{parcel.pk}/fire/", {"transition": "send"}, format="json")
    assert response.status_code == 200
    assert TransitionLog.objects.latest("id").actor_kind == "anonymous"


def test_a_session_without_its_csrf_token_changes_nothing(
    user: User, ticket: Ticket, unchanged: Callable[[], Any]
) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(user)
    before = unchanged()
    assert_error(client.post(url(ticket), {"transition": "ask"}, format="json"), 403, "permission_denied")
    assert unchanged() == before


def test_an_html_form_may_carry_its_csrf_token(user: User, ticket: Ticket) -> None:
    response = client_of(user).post(
        url(ticket), {"transition": "ask", "input": '{"note": "x"}', "expect_version": "1", "csrfmiddlewaretoken": "t"}
    )
    assert response.status_code == 200
    assert response.json()["record"]["note"] == "x"


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"transition": "ask", "input": "{"}, "input"),
        ({"transition": "ask", "input": "[]"}, "input"),
        ({"transition": ["ask", "touch"]}, "transition"),
        ({"transition": "ask", "expect_version": "soon"}, "expect_version"),
    ],
)
def test_an_html_form_that_does_not_fit_names_the_field(
    api: APIClient, ticket: Ticket, form: dict[str, Any], field: str
) -> None:
    data = assert_error(api.post(url(ticket), form), 400, "invalid_input")
    assert [problem["field"] for problem in data["problems"]] == [field]


def test_the_permission_of_one_transition_is_shown_and_met(user: User, ticket: Ticket) -> None:
    client = client_of(user)
    shown = {one["name"]: one for one in client.get(f"/api/picky/{ticket.title}/lifecycle/").json()["available"]}
    response = client.post(f"/api/picky/{ticket.title}/fire/", {"transition": "ask"}, format="json")
    data = assert_error(response, 403, "permission_denied")
    assert data["refusals"] == shown["ask"]["refusals"]
    assert data["detail"] == "Tickets are asked about on Mondays."
    assert client.post(f"/api/picky/{ticket.title}/fire/", {"transition": "touch"}, format="json").status_code == 200


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_other_methods_are_not_allowed(api: APIClient, ticket: Ticket, method: str) -> None:
    assert_error(getattr(api, method)(url(ticket)), 405, "method_not_allowed")


def test_an_answer_nobody_renders_is_not_acceptable(api: APIClient, ticket: Ticket) -> None:
    response = api.post(url(ticket), {"transition": "ask"}, format="json", headers={"Accept": "image/png"})
    assert_error(response, 406, "not_acceptable")
    ticket.refresh_from_db()
    assert ticket.status == "open"


def test_the_browsable_api_shows_every_endpoint(user: User, ticket: Ticket, parcel: Parcel) -> None:
    client = client_of(user)
    pages = ["/api/tickets/", url(ticket, "lifecycle"), url(ticket, "history"), "/api/parcels/lifecycle/"]
    for page in pages:
        response = client.get(page, headers={"Accept": "text/html"})
        assert response.status_code == 200
        assert response["Content-Type"].startswith("text/html")
    refused = client.get(url(ticket), headers={"Accept": "text/html"})
    assert refused.status_code == 405


def test_the_lifecycle_is_named_for_models_with_several(api: APIClient, parcel: Parcel) -> None:
    response = api.post(f"/api/parcels/{parcel.pk}/fire/", {"transition": "send"}, format="json")
    assert response.status_code == 200
    assert [run["effect"] for run in response.json()["runs"]] == [ParcelLifecycle.print_label.name]
