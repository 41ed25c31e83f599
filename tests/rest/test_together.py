"""The doors inside a project: its transactions, its throttles, its other callers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from rest_framework.test import APIClient
from rest_framework.throttling import ScopedRateThrottle

from lifecycle.models import TransitionLog
from lifecycle.runtime import create, register_guard
from lifecycle.testing import race
from tests.desk.models import Ticket
from tests.rest.conftest import assert_error, client_of
from tests.rest.desk import TicketViewSet


def fire_url(ticket: Ticket) -> str:
    return f"/api/tickets/{ticket.pk}/fire/"


@pytest.mark.django_db(transaction=True)
def test_two_people_press_the_button_and_one_is_told(user: User, ticket: Ticket) -> None:
    def press(name: str) -> Callable[[], Any]:
        return lambda: client_of(User.objects.get(pk=user.pk)).post(
            fire_url(ticket), {"transition": "ask", "expect_version": 1, "request_id": name}, format="json"
        )

    answers = [finish.get() for finish in race(press("one"), press("two"))]

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    [told] = [answer for answer in answers if answer.status_code == 409]
    assert_error(told, 409, "conflict")
    assert TransitionLog.objects.filter(transition="ask").count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_click_sent_twice_at_once_is_answered_twice_and_done_once(user: User, ticket: Ticket) -> None:
    def press() -> Any:
        body = {"transition": "ask", "request_id": "click"}
        return client_of(User.objects.get(pk=user.pk)).post(fire_url(ticket), body, format="json")

    answers = [finish.get() for finish in race(press, press)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert sorted(answer.json()["replayed"] for answer in answers) == [False, True]
    assert TransitionLog.objects.filter(transition="ask").count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_creation_sent_twice_at_once_makes_one_record(user: User) -> None:
    def send() -> Any:
        body = {"title": "Smoke", "request_id": "click"}
        return client_of(User.objects.get(pk=user.pk)).post("/api/tickets/", body, format="json")

    answers = [finish.get() for finish in race(send, send)]

    assert sorted(answer.status_code for answer in answers) == [200, 201]
    assert Ticket.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_refusal_under_atomic_requests_keeps_nothing_of_the_request(user: User, monkeypatch: Any) -> None:
    """djangorestframework-fsm 4: atomic whatever ATOMIC_REQUESTS says."""
    ticket = create(Ticket(), actor=user)
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)

    def noting_actor(view: Any) -> Any:
        Ticket.objects.filter(pk=ticket.pk).update(note="noted before the refusal")
        return view.request.user

    monkeypatch.setattr(TicketViewSet, "get_actor", noting_actor)
    undo = register_guard("tickets", "touch", lambda ctx: "No.")
    try:
        response = client_of(user).post(fire_url(ticket), {"transition": "touch"}, format="json")
    finally:
        undo()
    assert response.status_code == 409
    ticket.refresh_from_db()
    assert ticket.note == ""


@pytest.mark.django_db
def test_a_door_may_have_its_own_throttle(user: User, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
    class OnePerDay(ScopedRateThrottle):
        THROTTLE_RATES = {"tickets-fire": "1/day"}

    cache.clear()
    monkeypatch.setattr(TicketViewSet, "throttle_classes", [OnePerDay])
    monkeypatch.setattr(TicketViewSet, "lifecycle_throttle_scopes", {"fire": "tickets-fire"})
    client = client_of(user)
    assert client.post(fire_url(ticket), {"transition": "touch"}, format="json").status_code == 200
    second = client.post(fire_url(ticket), {"transition": "touch"}, format="json")
    assert_error(second, 429, "throttled")
    assert int(second["Retry-After"]) > 0
    assert client.get(f"/api/tickets/{ticket.pk}/lifecycle/").status_code == 200
    cache.clear()


@pytest.mark.django_db
def test_a_project_with_a_handler_of_its_own_keeps_the_one_error_body_here(
    user: User, ticket: Ticket, settings: Any
) -> None:
    settings.REST_FRAMEWORK = {"EXCEPTION_HANDLER": "tests.rest.test_together.odd_handler"}
    client = client_of(user)
    assert_error(client.post(fire_url(ticket), {"transition": "reopen"}, format="json"), 409, "invalid_state")
    assert_error(client.post("/api/tickets/999/fire/", {}, format="json"), 404, "not_found")
    assert client.get("/api/tickets/999/").json() == {"odd": True}


def odd_handler(exc: Exception, context: Any) -> Any:
    from rest_framework.response import Response

    return Response({"odd": True}, status=getattr(exc, "status_code", 404))


@pytest.mark.django_db
def test_an_anonymous_caller_learns_nothing_of_which_records_exist(ticket: Ticket) -> None:
    for pk in (ticket.pk, 999):
        assert_error(APIClient().get(f"/api/tickets/{pk}/lifecycle/"), 403, "not_authenticated")
