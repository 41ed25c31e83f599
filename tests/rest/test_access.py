"""Who may do what at which endpoint: every cell of the matrix."""

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
from lifecycle.models import Run
from lifecycle.runtime import create, fire
from tests.rest.conftest import assert_error, client_of, user_with
from tests.rest.support import TicketViewSet
from tests.support.models import Agent, Ticket

pytestmark = pytest.mark.django_db

OPERATING = ("retry_run", "continue_run", "cancel_run")


class MayViewOrChange(BasePermission):
    """To see, and to be an operator, it takes the permission to view; to create and to fire, the one to change."""

    def has_permission(self, request: Any, view: Any) -> bool:
        seeing = request.method == "GET" or view.action in OPERATING
        return bool(request.user.has_perm("support.view_ticket" if seeing else "support.change_ticket"))


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
SEE, CHANGE = "support.view_ticket", "support.change_ticket"
PERMISSIONS = {
    "other tenant": (SEE, CHANGE, "support.solve_ticket"),
    "viewer": (SEE,),
    "actor": (SEE, CHANGE),  # without the permission of the transition
    "operator": (SEE, "lifecycle.operate"),
}

# endpoint: verb, address, body
RECORD, RUN = "/api/tickets/{ticket}/", "/api/tickets/{ticket}/runs/{run}/"
ENDPOINTS: dict[str, tuple[str, str, Any]] = {
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
    (endpoint.strip(), actor, int(status))
    for line in MATRIX.strip().splitlines()
    for endpoint, *statuses in [line.split("|")]
    for actor, status in zip(ACTORS, statuses, strict=True)
]
VERBS = ("get", "post", "put", "patch", "delete")


def test_the_matrix_is_whole() -> None:
    assert {endpoint for endpoint, _, _ in CELLS} == set(ENDPOINTS)
    assert len(CELLS) == len(set(CELLS)) == 16 * 6


@pytest.fixture
def records(settings: Any, db: None) -> dict[str, Any]:
    """A tenant's ticket with a run that each of the three actions fits, and another record's run."""
    settings.ROOT_URLCONF = __name__
    ours = create(Ticket(agent=Agent.objects.create(name="ours")), actor=SYSTEM)
    other = create(Ticket(agent=ours.agent), actor=SYSTEM)
    runs = {}
    for name, ticket in (("run", ours), ("foreign", other)):
        fire(ticket, "solve", actor=SYSTEM, input={"answer": "x"})
        runs[name] = fire(ticket, "reopen", actor=SYSTEM).runs[0].pk
    return {"ticket": ours.pk, **runs}


def fit(endpoint: str) -> None:
    """Makes every run such that the endpoint's operator_action is possible."""
    if endpoint.startswith("retry"):
        Run.objects.update(status="failed", outcome="failed", attempts=1)
    elif endpoint == "continue":
        Run.objects.update(status="succeeded", outcome="succeeded", follow_up="abandoned")


def client(actor: str) -> APIClient:
    if actor == "anonymous":
        return APIClient()
    if actor == "superuser":
        return client_of(User.objects.create_superuser("root"))
    person = user_with(actor, *PERMISSIONS[actor])
    person.last_name = "theirs" if actor == "other tenant" else "ours"
    person.save()
    return client_of(User.objects.get(pk=person.pk))


def ask(caller: APIClient, endpoint: str, records: dict[str, Any], verb: str = "") -> Any:
    usual, address, body = ENDPOINTS[endpoint]
    return getattr(caller, verb or usual)(address.format(**records), body, format="json" if body is not None else None)


@pytest.mark.parametrize(
    ("endpoint", "actor", "status"), CELLS, ids=[f"{endpoint} by {actor}" for endpoint, actor, _ in CELLS]
)
def test_a_endpoint_answers_an_actor(
    records: dict[str, Any], unchanged: Callable[[], Any], endpoint: str, actor: str, status: int
) -> None:
    caller = client(actor)
    fit(endpoint)
    before = unchanged()
    response = ask(caller, endpoint, records)
    assert response.status_code == status, response.content
    if status >= 400:
        assert_error(response, status, response.json()["code"])
    if status >= 400 or ENDPOINTS[endpoint][0] == "get":
        assert unchanged() == before
    else:
        assert unchanged() != before


@pytest.mark.parametrize("actor", ACTORS)
def test_a_endpoint_has_one_verb(records: dict[str, Any], unchanged: Callable[[], Any], actor: str) -> None:
    caller, before, cells = client(actor), unchanged(), 0
    for endpoint, (usual, address, _) in ENDPOINTS.items():
        for verb in VERBS:
            # The list's address is the project's own for reading.
            if verb == usual or (address, verb) == ("/api/tickets/", "get"):
                continue
            cells += 1
            response = getattr(caller, verb)(address.format(**records), {}, format="json")
            assert response.status_code in (403, 405), (endpoint, verb, response.content)
            assert_error(response, response.status_code, response.json()["code"])
    assert cells == 16 * 4 - 1
    assert unchanged() == before


@pytest.mark.parametrize("actor", ACTORS)
def test_asking_what_a_endpoint_takes_changes_nothing(
    records: dict[str, Any], unchanged: Callable[[], Any], actor: str
) -> None:
    caller, before = client(actor), unchanged()
    for endpoint in ENDPOINTS:
        response = caller.options(ENDPOINTS[endpoint][1].format(**records))
        assert response.status_code in (200, 403), (endpoint, response.content)
        assert caller.head(ENDPOINTS[endpoint][1].format(**records)).status_code in (200, 403, 404, 405)
    assert unchanged() == before


@pytest.mark.parametrize("endpoint", [endpoint for endpoint, (verb, _, _) in ENDPOINTS.items() if verb == "post"])
def test_a_session_without_its_csrf_token_gets_nowhere(
    records: dict[str, Any], unchanged: Callable[[], Any], endpoint: str
) -> None:
    root = User.objects.create_superuser("root")
    caller = APIClient(enforce_csrf_checks=True)
    caller.force_login(root)
    fit(endpoint)
    before = unchanged()
    assert_error(ask(caller, endpoint, records), 403, "permission_denied")
    assert unchanged() == before


def test_a_session_with_its_token_gets_through(records: dict[str, Any]) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.create_superuser("root"))
    browser.cookies["csrftoken"] = token = "t" * 32
    response = browser.post(
        RECORD.format(**records) + "fire/",
        {"transition": "touch"},
        content_type="application/json",
        headers={"X-CSRFToken": token},
    )
    assert response.status_code == 200


@pytest.mark.parametrize("actor", ["viewer", "actor"])
def test_who_is_no_operator_sees_no_inside_of_a_run(records: dict[str, Any], actor: str) -> None:
    Run.objects.update(result={"secret": "yes"}, status="succeeded")
    caller = client(actor)
    for endpoint in ("view", "runs", "history"):
        assert "secret" not in ask(caller, endpoint, records).content.decode()
