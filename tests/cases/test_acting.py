"""Acting: who acts in a request — somebody as somebody else, and nobody where there are no users."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from lifecycle import ANONYMOUS, acting_as
from lifecycle.actors import as_actor
from lifecycle.models import OperatorAction, TransitionLog
from lifecycle.runtime import create
from orders.factories import OrderFactory
from tests.execution.rows import queue_runs
from tests.rest.conftest import user_with
from tests.support.models import Ticket

HERE = f"{__name__}.impersonated"


def impersonated(request: Any) -> Any:
    """As a project with an impersonation middleware writes it."""
    return acting_as(request.user, by=User.objects.filter(username=request.headers.get("X-Really", "")).first())


def nobody(request: Any) -> None:
    """A mistake."""


@pytest.fixture
def ben(db: None, settings: Any) -> User:
    """An administrator, who may look into other people's trouble."""
    settings.LIFECYCLE = {"REQUEST_ACTOR": HERE}
    return User.objects.create_superuser("ben", password="x")


@pytest.fixture
def ada(db: None) -> User:
    return user_with("ada", "support.solve_ticket", "lifecycle.operate")


def names(row: Any) -> tuple[str, str, str]:
    return row.actor_kind, row.actor_id, row.actor_label


@pytest.mark.row("M15")
def test_over_rest_the_history_keeps_both_names_and_permissions_are_asked_of_whose_place_is_taken(
    ben: User, ada: User, settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.rest.urls"
    api = APIClient(headers={"X-Really": "ben"})
    api.force_authenticate(ada)

    made = api.post("/api/tickets/", {"title": "Smoke"}, format="json")
    assert made.status_code == 201
    ticket = Ticket.objects.get()
    api.post(f"/api/tickets/{ticket.pk}/fire/", {"transition": "ask"}, format="json")
    refused = api.post(f"/api/tickets/{ticket.pk}/fire/", {"transition": "escalate"}, format="json")

    assert refused.status_code == 403  # ada may not, though ben might
    assert {names(entry) for entry in TransitionLog.objects.all()} == {("user", str(ben.pk), "ben as ada")}
    shown = api.get(f"/api/tickets/{ticket.pk}/lifecycle/").json()
    assert shown["history"][0]["actor"] == {"kind": "user", "id": str(ben.pk), "label": "ben as ada"}
    [run] = queue_runs(1, status="failed", lifecycle="tickets", record_id=str(ticket.pk), effect="tell_agent")
    assert api.post(f"/api/tickets/{ticket.pk}/runs/{run.pk}/retry/", {}, format="json").status_code == 200
    assert names(OperatorAction.objects.get()) == ("user", str(ben.pk), "ben as ada")


@pytest.mark.row("M15")
def test_in_the_admin_both_names_are_kept_too(ben: User) -> None:
    ada = User.objects.create_superuser("ada", password="x")
    browser = Client(headers={"X-Really": "ben"})
    browser.force_login(ada)
    [run] = queue_runs(1, status="failed")

    fields = {"customer": "Omar", "title": "Lamp", "amount_cents": "100", "currency": "EUR"}
    browser.post("/admin/orders/order/add/", {**fields, "fail_checkouts": "0", "fail_refunds": "0"})
    orders = TransitionLog.objects.filter(lifecycle="orders")
    order = orders.get().record_id
    page = f"/admin/orders/order/{order}/lifecycle/orders/checkout/"
    assert browser.post(page, {"version": "1", "key": "k"}).status_code == 302
    bulk = {"lifecycle_confirmed": "orders:checkout", "row": [str(OrderFactory().pk)], "key": "b"}
    browser.post("/admin/orders/order/", bulk)
    browser.post("/admin/lifecycle/run/", {"action": "retry_runs", "_selected_action": [run.pk], "reason": ""})
    window = "/admin/lifecycle/lifecyclespage/orders/payment_window/"
    browser.post(window, {"value": "1 min", "seen": '"P0DT00H03M00S"', "reason": ""})

    assert list(orders.order_by("id").values_list("transition", flat=True)) == ["$create", "checkout", "checkout"]
    assert OperatorAction.objects.count() == 2
    written = {names(row) for row in [*orders, *OperatorAction.objects.all()]}
    assert written == {("user", str(ben.pk), "ben as ada")}


@pytest.mark.row("M15")
def test_who_is_nobody_but_themselves_is_named_once(ben: User, ada: User) -> None:
    assert acting_as(ada, by=None) == acting_as(ada, by=ada) == as_actor(ada)
    long = User(pk=7, username="l" * 150)
    assert str(acting_as(ada, by=long)).endswith(" as ada")
    assert len(str(acting_as(long, by=ada))) < 150


@pytest.mark.row("M15")
def test_a_function_that_is_not_there_or_answers_nobody_is_named(ben: User, ada: User, settings: Any) -> None:
    from lifecycle.checks.configuration import the_request_actor_can_be_imported

    assert the_request_actor_can_be_imported(None) == []
    for path, said in (("tests.cases.nowhere.at_all", "No module"), (f"{__name__}.HERE", "cannot be called")):
        settings.LIFECYCLE = {"REQUEST_ACTOR": path}
        [problem] = the_request_actor_can_be_imported(None)
        assert (problem.id, said in problem.msg) == ("lifecycle.E134", True)
    settings.LIFECYCLE = {"REQUEST_ACTOR": f"{__name__}.nobody"}
    settings.ROOT_URLCONF = "tests.rest.urls"
    api = APIClient()
    api.force_authenticate(ada)
    with pytest.raises(TypeError, match="REQUEST_ACTOR .*nobody.* answered None: expected a user or an Actor"):
        api.post("/api/tickets/", {"title": "Smoke"}, format="json")


@pytest.mark.row("M7")
def test_nobody_is_still_never_guessed_in_python(db: None) -> None:
    with pytest.raises(TypeError, match="actor"):
        create(Ticket(), actor=None)
    assert create(Ticket(), actor=ANONYMOUS).lifecycle.history.get().actor_kind == "anonymous"


@pytest.mark.once
@pytest.mark.row("M7")
def test_rest_works_without_users() -> None:
    program = """
        import django
        from django.conf import settings

        settings.configure(
            SECRET_KEY="x", ROOT_URLCONF="__main__", ALLOWED_HOSTS=["*"], USE_TZ=True,
            DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
            DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:",
                                   "OPTIONS": {"transaction_mode": "IMMEDIATE"}}},
            INSTALLED_APPS=["lifecycle", "rest_framework", "tests.support"],
            REST_FRAMEWORK={"UNAUTHENTICATED_USER": None, "DEFAULT_AUTHENTICATION_CLASSES": []},
        )
        django.setup()

        from django.core.management import call_command
        from django.urls import include, path
        from rest_framework.routers import SimpleRouter
        from rest_framework.serializers import ModelSerializer
        from rest_framework.test import APIRequestFactory
        from rest_framework.viewsets import ReadOnlyModelViewSet

        from lifecycle.rest import LifecycleViewSetMixin
        from tests.support.lifecycles import TicketLifecycle
        from tests.support.models import Ticket

        class Serializer(ModelSerializer):
            class Meta:
                model = Ticket
                fields = ["id", "status", "title"]

        class Tickets(LifecycleViewSetMixin, ReadOnlyModelViewSet):
            lifecycle, queryset, serializer_class = TicketLifecycle, Ticket.objects.all(), Serializer
            lifecycle_permission_classes = []

        router = SimpleRouter()
        router.register("tickets", Tickets)
        urlpatterns = [path("", include(router.urls)), path("lifecycle/", include("lifecycle.rest.urls"))]

        call_command("migrate", run_syncdb=True, verbosity=0)
        from django.test import Client
        client = Client()
        json = {"content_type": "application/json"}
        seen = [client.post("/tickets/", {"title": "Smoke"}, **json)]
        seen += [client.post("/tickets/1/fire/", {"transition": name}, **json) for name in ("ask", "escalate")]
        seen += [client.get(f"/tickets/{one}") for one in ("1/lifecycle/", "1/history/", "1/runs/", "lifecycle/")]
        seen += [client.post("/tickets/1/runs/1/retry/", {}, **json), client.get("/lifecycle/runs/")]
        print([one.status_code for one in seen], seen[0].json()["history"][0]["actor"])
    """
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.strip() == (
        "[201, 200, 403, 200, 200, 200, 200, 403, 403] {'kind': 'anonymous', 'id': '', 'label': 'anonymous'}"
    ), ran.stderr[-2000:]
