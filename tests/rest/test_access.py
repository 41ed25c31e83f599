"""Who may do what at which door: every cell of the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import include, path
from rest_framework.permissions import BasePermission
from rest_framework.routers import DefaultRouter
from rest_framework.test import APIClient

from lifecycle import SYSTEM
from lifecycle.models import EffectRun
from lifecycle.runtime import create, fire
from tests.desk.models import Agent, Ticket
from tests.rest.conftest import assert_error, client_of, user_with
from tests.rest.desk import TicketViewSet

pytestmark = pytest.mark.django_db

OPERATING = ("retry_run", "continue_run", "cancel_run")


class MayViewOrChange(BasePermission):
    """To see, and to be an operator, it takes the permission to view; to create and to fire, the one to change."""

    def has_permission(self, request: Any, view: Any) -> bool:
        seeing = request.method == "GET" or view.action in OPERATING
        return bool(request.user.has_perm("desk.view_ticket" if seeing else "desk.change_ticket"))


class TenantTicketViewSet(TicketViewSet):
    """Each tenant has tickets of its own; a user's last name says which tenant they are of."""

    permission_classes = [MayViewOrChange]

    def get_queryset(self) -> Any:
        rows = super().get_queryset()
        user = self.request.user
        return rows if user.is_superuser else rows.filter(agent__name=user.last_name)


router = DefaultRouter()
router.register("tickets", TenantTicketViewSet, basename="tenants")
urlpatterns = [path("api/", include(router.urls)), path("lifecycle/", include("lifecycle.rest.urls"))]

ACTORS = ("anonymous", "other tenant", "viewer", "actor", "operator", "superuser")
SEE, CHANGE = "desk.view_ticket", "desk.change_ticket"
PERMISSIONS = {
    "other tenant": (SEE, CHANGE, "desk.solve_ticket"),
    "viewer": (SEE,),
    "actor": (SEE, CHANGE),  # without the permission of the transition
    "operator": (SEE, "lifecycle.operate"),
}

# door: verb, address, body
RECORD, RUN = "/api/tickets/{ticket}/", "/api/tickets/{ticket}/runs/{run}/"
DOORS: dict[str, tuple[str, str, Any]] = {
    "definition": ("get", "/api/tickets/lifecycle/", None),
    "view": ("get", RECORD + "lifecycle/", None),
    "history": ("get", RECORD + "history/", None),
    "runs": ("get", RECORD + "runs/", None),
    "create": ("post", "/api/tickets/", {"title": "Smoke"}),
    "fire": ("post", RECORD + "fire/", {"transition": "touch"}),
    "fire, permission needed": ("post", RECORD + "fire/", {"transition": "solve", "input": {"answer": "Water."}}),
    "fire, the system's": ("post", RECORD + "fire/", {"transition": "close"}),
    "fire, no such": ("post", RECORD + "fire/", {"transition": "explode"}),
    "retry": ("post", RUN + "retry/", {}),
    "continue": ("post", RUN + "continue/", {}),
    "cancel": ("post", RUN + "cancel/", {}),
    "retry another's": ("post", "/api/tickets/{ticket}/runs/{foreign}/retry/", {}),
    "cancel another's": ("post", "/api/tickets/{ticket}/runs/{foreign}/cancel/", {}),
    "all runs": ("get", "/lifecycle/runs/", None),
    "all definitions": ("get", "/lifecycle/definitions/", None),
}
#                            anonymous  other   viewer  actor   operator superuser
MATRIX = """
    definition              | 403    | 200    | 200    | 200    | 200    | 200
    view                    | 403    | 404    | 200    | 200    | 200    | 200
    history                 | 403    | 404    | 200    | 200    | 200    | 200
    runs                    | 403    | 404    | 200    | 200    | 200    | 200
    create                  | 403    | 201    | 403    | 201    | 403    | 201
    fire                    | 403    | 404    | 403    | 200    | 403    | 200
    fire, permission needed | 403    | 404    | 403    | 403    | 403    | 200
    fire, the system's      | 403    | 404    | 403    | 403    | 403    | 403
    fire, no such           | 403    | 404    | 403    | 400    | 403    | 400
    retry                   | 403    | 404    | 403    | 403    | 200    | 200
    continue                | 403    | 404    | 403    | 403    | 200    | 200
    cancel                  | 403    | 404    | 403    | 403    | 200    | 200
    retry another's         | 403    | 404    | 403    | 403    | 404    | 404
    cancel another's        | 403    | 404    | 403    | 403    | 404    | 404
    all runs                | 403    | 403    | 403    | 403    | 200    | 200
    all definitions         | 403    | 403    | 403    | 403    | 200    | 200
"""
CELLS = [
    (door.strip(), actor, int(status))
    for line in MATRIX.strip().splitlines()
    for door, *statuses in [line.split("|")]
    for actor, status in zip(ACTORS, statuses, strict=True)
]
VERBS = ("get", "post", "put", "patch", "delete")


def test_the_matrix_is_whole() -> None:
    assert {door for door, _, _ in CELLS} == set(DOORS)
    assert len(CELLS) == len(set(CELLS)) == 16 * 6


@pytest.fixture
def desk(settings: Any, db: None) -> dict[str, Any]:
    """A tenant's ticket with a run that each of the three deeds fits, and another record's run."""
    settings.ROOT_URLCONF = __name__
    ours = create(Ticket(agent=Agent.objects.create(name="ours")), actor=SYSTEM)
    other = create(Ticket(agent=ours.agent), actor=SYSTEM)
    runs = {}
    for name, ticket in (("run", ours), ("foreign", other)):
        fire(ticket, "solve", actor=SYSTEM, input={"answer": "x"})
        runs[name] = fire(ticket, "reopen", actor=SYSTEM).runs[0].pk
    return {"ticket": ours.pk, **runs}


def fit(door: str) -> None:
    """Makes every run such that the door's deed is possible."""
    if door.startswith("retry"):
        EffectRun.objects.update(status="failed", outcome="failed", attempts=1)
    elif door == "continue":
        EffectRun.objects.update(status="succeeded", outcome="succeeded", follow_up="abandoned")


def client(actor: str) -> APIClient:
    if actor == "anonymous":
        return APIClient()
    if actor == "superuser":
        return client_of(User.objects.create_superuser("root"))
    person = user_with(actor, *PERMISSIONS[actor])
    person.last_name = "theirs" if actor == "other tenant" else "ours"
    person.save()
    return client_of(User.objects.get(pk=person.pk))


def ask(caller: APIClient, door: str, desk: dict[str, Any], verb: str = "") -> Any:
    usual, address, body = DOORS[door]
    return getattr(caller, verb or usual)(address.format(**desk), body, format="json" if body is not None else None)


@pytest.mark.parametrize(("door", "actor", "status"), CELLS, ids=[f"{door} by {actor}" for door, actor, _ in CELLS])
def test_a_door_answers_an_actor(
    desk: dict[str, Any], unchanged: Callable[[], Any], door: str, actor: str, status: int
) -> None:
    caller = client(actor)
    fit(door)
    before = unchanged()
    response = ask(caller, door, desk)
    assert response.status_code == status, response.content
    if status >= 400:
        assert_error(response, status, response.json()["code"])
    if status >= 400 or DOORS[door][0] == "get":
        assert unchanged() == before
    else:
        assert unchanged() != before


@pytest.mark.parametrize("actor", ACTORS)
def test_a_door_has_one_verb(desk: dict[str, Any], unchanged: Callable[[], Any], actor: str) -> None:
    caller, before, cells = client(actor), unchanged(), 0
    for door, (usual, address, _) in DOORS.items():
        for verb in VERBS:
            # The list's address is the project's own for reading.
            if verb == usual or (address, verb) == ("/api/tickets/", "get"):
                continue
            cells += 1
            response = getattr(caller, verb)(address.format(**desk), {}, format="json")
            assert response.status_code in (403, 405), (door, verb, response.content)
            assert_error(response, response.status_code, response.json()["code"])
    assert cells == 16 * 4 - 1
    assert unchanged() == before


@pytest.mark.parametrize("actor", ACTORS)
def test_asking_what_a_door_takes_changes_nothing(
    desk: dict[str, Any], unchanged: Callable[[], Any], actor: str
) -> None:
    caller, before = client(actor), unchanged()
    for door in DOORS:
        response = caller.options(DOORS[door][1].format(**desk))
        assert response.status_code in (200, 403), (door, response.content)
        assert caller.head(DOORS[door][1].format(**desk)).status_code in (200, 403, 404, 405)
    assert unchanged() == before


@pytest.mark.parametrize("door", [door for door, (verb, _, _) in DOORS.items() if verb == "post"])
def test_a_session_without_its_csrf_token_gets_nowhere(
    desk: dict[str, Any], unchanged: Callable[[], Any], door: str
) -> None:
    root = User.objects.create_superuser("root")
    caller = APIClient(enforce_csrf_checks=True)
    caller.force_login(root)
    fit(door)
    before = unchanged()
    assert_error(ask(caller, door, desk), 403, "permission_denied")
    assert unchanged() == before


def test_a_session_with_its_token_gets_through(desk: dict[str, Any]) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.create_superuser("root"))
    browser.cookies["csrftoken"] = token = "t" * 32
    response = browser.post(
        RECORD.format(**desk) + "fire/",
        {"transition": "touch"},
        content_type="application/json",
        headers={"X-CSRFToken": token},
    )
    assert response.status_code == 200


@pytest.mark.parametrize("actor", ["viewer", "actor"])
def test_who_is_no_operator_sees_no_inside_of_a_run(desk: dict[str, Any], actor: str) -> None:
    EffectRun.objects.update(result={"secret": "yes"}, status="succeeded")
    caller = client(actor)
    for door in ("view", "runs", "history"):
        assert "secret" not in ask(caller, door, desk).content.decode()
