"""The endpoints inside a project: its transactions, its throttles, its other callers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.urls import clear_url_caches, include, path
from rest_framework.renderers import JSONRenderer
from rest_framework.routers import SimpleRouter
from rest_framework.test import APIClient
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.viewsets import GenericViewSet

from lifecycle.models import TransitionLog
from lifecycle.rest import LifecycleViewSetMixin
from lifecycle.runtime import create, register_guard
from lifecycle.testing import race
from tests.rest.conftest import assert_error, client_of
from tests.rest.support import TicketSerializer, TicketViewSet
from tests.support.lifecycles import TicketLifecycle
from tests.support.models import Ticket


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
def test_a_endpoint_may_have_its_own_throttle(user: User, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
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


# Whatever a project has --------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_renderer_of_a_projects_own_renders_views_and_errors(
    user: User, ticket: Ticket, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Shouting(JSONRenderer):
        media_type, format = "application/vnd.shouting", "shouting"

        def render(self, data: Any, accepted_media_type: Any = None, renderer_context: Any = None) -> bytes:
            return super().render({"SHOUTED": data}, accepted_media_type, renderer_context)

    monkeypatch.setattr(TicketViewSet, "renderer_classes", [Shouting])
    client = client_of(user)
    seen = client.get(f"/api/tickets/{ticket.pk}/lifecycle/")
    assert seen["Content-Type"] == "application/vnd.shouting"
    assert json.loads(seen.content)["SHOUTED"]["state"] == "open"
    refused = client.post(fire_url(ticket), {"transition": "reopen"}, format="json")
    assert (refused.status_code, json.loads(refused.content)["SHOUTED"]["code"]) == (409, "invalid_state")


@pytest.mark.django_db
def test_addresses_below_another_record_and_with_another_keyword_reach_every_endpoint(
    user: User, ticket: Ticket, settings: Any
) -> None:
    settings.ROOT_URLCONF = nested_urls(lookup_url_kwarg="ticket_pk")
    client, there = client_of(user), f"/agents/{ticket.agent_id or 0}/tickets"
    assert client.get(f"{there}/lifecycle/").status_code == 200
    assert client.post(f"{there}/{ticket.pk}/fire/", {"transition": "touch"}, format="json").status_code == 200
    tag = client.get(f"{there}/{ticket.pk}/lifecycle/")["ETag"]
    assert client.get(f"{there}/{ticket.pk}/lifecycle/", headers={"If-None-Match": tag}).status_code == 304
    assert client.get(f"{there}/{ticket.pk}/history/").status_code == 200
    assert_error(client.post(f"{there}/{ticket.pk}/runs/1/retry/", {}, format="json"), 403, "permission_denied")


@pytest.mark.django_db
def test_a_viewset_of_single_actions_and_views_wired_by_hand_work_too(
    user: User, ticket: Ticket, settings: Any
) -> None:
    class Bare(LifecycleViewSetMixin, GenericViewSet[Ticket]):
        lifecycle = TicketLifecycle
        queryset = Ticket.objects.all()
        serializer_class = TicketSerializer

    settings.ROOT_URLCONF = urls(
        path("<int:pk>/", Bare.as_view({"get": "lifecycle_view"})), path("<int:pk>/go", Bare.as_view({"post": "fire"}))
    )
    client = client_of(user)
    assert client.get(f"/{ticket.pk}/").json()["version"] == 1
    assert client.post(f"/{ticket.pk}/go", {"transition": "touch"}, format="json").json()["version"] == 2
    assert_error(APIClient().get(f"/{ticket.pk}/"), 403, "not_authenticated")
    assert_error(client.post(f"/{ticket.pk}/", {}, format="json"), 405, "method_not_allowed")


@pytest.mark.django_db
def test_nothing_of_the_projects_other_views_changes(user: User, ticket: Ticket) -> None:
    client = client_of(user)
    assert client.get("/api/tickets/999/").json().keys() == {"detail"}
    assert client.post("/api/parcels/", "x", content_type="text/plain").status_code == 415
    assert client.put("/api/parcels/999/", {}, format="json").json().keys() == {"detail"}


def urls(*patterns: Any) -> Any:
    module = ModuleType("urls_of_a_test")
    module.urlpatterns = list(patterns)  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    clear_url_caches()
    return module.__name__


def nested_urls(**attributes: Any) -> Any:
    router = SimpleRouter()
    router.register("tickets", type("Nested", (TicketViewSet,), attributes), basename="nested")
    return urls(path("agents/<int:agent>/", include(router.urls)))
