"""Who may open which page of the browser, and who may do what there: every page and operator_action × everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from lifecycle.models import OperatorAction, ParameterOverride, Run, TransitionLog, TriggerHold
from orders.models import Order
from tests.admin.story import Story

pytestmark = pytest.mark.django_db

PEOPLE = ["anonymous", "customer", "staff", "viewer", "shipper", "operator", "superuser"]

LOGIN, NO, OK = "to login", "403", "200"
MISSING = "404"
# What a form answers that changes something: back to a page, or a page that says what became of it.
DONE = "done"


def row(*answers: str) -> dict[str, str]:
    return dict(zip(PEOPLE, answers, strict=True))


#                     anonymous customer staff viewer shipper operator superuser
LIBRARY = row(LOGIN, LOGIN, NO, OK, NO, OK, OK)
RECORDS = row(LOGIN, LOGIN, NO, OK, OK, OK, OK)
PAGES = {
    "index of the app": row(LOGIN, LOGIN, MISSING, OK, MISSING, OK, OK),
    "lifecycles": LIBRARY,
    "parameter": LIBRARY,
    "runs": LIBRARY,
    "run": LIBRARY,
    "run's log": LIBRARY,
    "history": LIBRARY,
    "entry": LIBRARY,
    "holds": LIBRARY,
    "hold": LIBRARY,
    "actions": LIBRARY,
    "operator_action": LIBRARY,
    "orders": RECORDS,
    "order": RECORDS,
    "add order": row(LOGIN, LOGIN, NO, NO, NO, NO, OK),
    "ship": RECORDS,
    "cancel": RECORDS,
    # The system's own transition has no page, whoever asks.
    "expire": row(LOGIN, LOGIN, MISSING, MISSING, MISSING, MISSING, MISSING),
    "add run": row(LOGIN, LOGIN, NO, NO, NO, NO, NO),
    "delete run": row(LOGIN, LOGIN, NO, NO, NO, NO, NO),
    "add entry": row(LOGIN, LOGIN, NO, NO, NO, NO, NO),
    "delete entry": row(LOGIN, LOGIN, NO, NO, NO, NO, NO),
    "delete operator_action": row(LOGIN, LOGIN, NO, NO, NO, NO, NO),
}

OPERATING = row(LOGIN, LOGIN, NO, NO, NO, DONE, DONE)
ACTIONS = {
    "retry": OPERATING,
    "continue": OPERATING,
    "cancel run": OPERATING,
    "bulk retry": row(LOGIN, LOGIN, NO, "refused", NO, DONE, DONE),
    "bulk cancel": row(LOGIN, LOGIN, NO, "refused", NO, DONE, DONE),
    "fire held": OPERATING,
    "release": OPERATING,
    "set parameter": OPERATING,
    # Names its own permission; who may see the order and has it, may.
    "fire ship": row(LOGIN, LOGIN, NO, NO, DONE, NO, DONE),
    # Names none: for those who may change orders.
    "fire cancel": row(LOGIN, LOGIN, NO, NO, NO, NO, DONE),
    "fire expire": row(LOGIN, LOGIN, MISSING, MISSING, MISSING, MISSING, MISSING),
    "bulk ship": row(LOGIN, LOGIN, NO, "refused", DONE, "refused", DONE),
    "bulk cancel orders": row(LOGIN, LOGIN, NO, NO, NO, NO, DONE),
    "save order": row(LOGIN, LOGIN, NO, NO, NO, NO, DONE),
    "create order": row(LOGIN, LOGIN, NO, NO, NO, NO, DONE),
}


@pytest.fixture
def people(story: Story) -> dict[str, Any]:
    return {
        "anonymous": None,
        "customer": story.person("cora", staff=False),
        "staff": story.person("stan"),
        "viewer": story.viewer(),
        "shipper": story.person("shirin", "orders.view_order", "orders.ship_order"),
        "operator": story.operator(),
        "superuser": story.boss,
    }


@pytest.fixture
def places(story: Story) -> dict[str, str]:
    story.held()
    paid = story.paid()
    run = Run.objects.filter(record_id=str(paid.pk)).get()
    operator_action = OperatorAction.objects.create(
        action="retry", run_id=run.pk, actor_kind="user", actor_id="1", at=run.created_at
    )
    order, library = f"/admin/orders/order/{paid.pk}", "/admin/lifecycle"
    entry, hold = TransitionLog.objects.latest("id").pk, TriggerHold.objects.get().pk
    return {
        "index of the app": f"{library}/",
        "lifecycles": f"{library}/lifecyclespage/",
        "parameter": f"{library}/lifecyclespage/orders/payment_window/",
        "runs": f"{library}/run/",
        "run": f"{library}/run/{run.pk}/change/",
        "run's log": f"{library}/run/{run.pk}/history/",
        "add run": f"{library}/run/add/",
        "delete run": f"{library}/run/{run.pk}/delete/",
        "history": f"{library}/transitionlog/",
        "entry": f"{library}/transitionlog/{entry}/change/",
        "add entry": f"{library}/transitionlog/add/",
        "delete entry": f"{library}/transitionlog/{entry}/delete/",
        "holds": f"{library}/triggerhold/",
        "hold": f"{library}/triggerhold/{hold}/change/",
        "actions": f"{library}/operatoraction/",
        "operator_action": f"{library}/operatoraction/{operator_action.pk}/change/",
        "delete operator_action": f"{library}/operatoraction/{operator_action.pk}/delete/",
        "orders": "/admin/orders/order/",
        "order": f"{order}/change/",
        "add order": "/admin/orders/order/add/",
        "ship": f"{order}/lifecycle/orders/ship/",
        "cancel": f"{order}/lifecycle/orders/cancel/",
        "expire": f"{order}/lifecycle/orders/expire/",
    }


def answer(response: Any) -> str:
    if response.status_code == 302:
        return LOGIN if "/login/" in response["Location"] else DONE
    return str(response.status_code)


def rows() -> dict[str, Any]:
    """Everything a page could have changed."""
    models = [Order, Run, TransitionLog, TriggerHold, OperatorAction, ParameterOverride, LogEntry]
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}


def test_every_page_opens_for_those_who_may_see_it_and_changes_nothing(
    story: Story, people: dict[str, Any], places: dict[str, str], browser_of: Callable[[Any], Client]
) -> None:
    assert set(places) == set(PAGES)
    before, found = rows(), {}
    for who, user in people.items():
        client = browser_of(user)
        for page, address in places.items():
            found[page, who] = answer(client.get(address))
    expected = {(page, who): said for page, answers in PAGES.items() for who, said in answers.items()}
    assert found == expected
    assert len(found) == 161
    assert rows() == before


class Submission:
    """A form as a browser sends it, for things made afresh for each person."""

    def __init__(self, story: Story, client: Client) -> None:
        self.story = story
        self.client = client

    def send(self, name: str) -> Any:
        return getattr(self, name.replace(" ", "_"))()

    def run(self, run: Run, operator_action: str, **data: Any) -> Any:
        from lifecycle.admin.runs.page import stamp

        run.refresh_from_db()
        data |= {"operator_action": operator_action, "seen": stamp(run), "reason": "because"}
        return self.client.post(f"/admin/lifecycle/run/{run.pk}/change/", data)

    def rows_of_runs(self, action: str, run: Run) -> Any:
        data = {"action": action, "_selected_action": [run.pk], "reason": "because", "index": 0}
        return self.client.post("/admin/lifecycle/run/", data)

    def hold(self, operator_action: str) -> Any:
        from lifecycle.admin.lists.held import stamp

        hold = TriggerHold.objects.latest("id")
        data = {"operator_action": operator_action, "seen": stamp(hold), "reason": "because"}
        return self.client.post(f"/admin/lifecycle/triggerhold/{hold.pk}/change/", data)

    def fire(self, order: Order, name: str, **data: Any) -> Any:
        data |= {"version": order.lifecycle.version, "key": f"k{order.pk}"}
        return self.client.post(f"/admin/orders/order/{order.pk}/lifecycle/orders/{name}/", data)

    def rows_of_orders(self, order: Order, name: str, **data: Any) -> Any:
        data |= {"lifecycle_confirmed": f"orders:{name}", "key": f"k{order.pk}", "row": [order.pk]}
        return self.client.post("/admin/orders/order/", data)

    def retry(self) -> Any:
        order = self.story.refund_declined()
        return self.run(self.story.run_of(order, "orders.refund"), "retry", force="1")

    def _stuck(self) -> Run:
        order = self.story.follow_up_refused()
        self.story.open_the_day()
        return self.story.run_of(order, "orders.refund")

    def _queued(self) -> Run:
        return self.story.run_of(self.story.queued(), "orders.create_checkout")

    def bulk_retry(self) -> Any:
        order = self.story.refund_declined()
        Run.objects.filter(record_id=str(order.pk)).update(follow_up="none")
        return self.rows_of_runs("retry_runs", self.story.run_of(order, "orders.refund"))

    def cancel_run(self) -> Any:
        return self.run(self._queued(), "cancel")

    def bulk_cancel(self) -> Any:
        return self.rows_of_runs("cancel_runs", self._queued())

    def fire_held(self) -> Any:
        self.story.held()
        self.story.open_the_day()
        return self.hold("fire")

    def release(self) -> Any:
        self.story.held()
        return self.hold("release")

    def set_parameter(self) -> Any:
        address = "/admin/lifecycle/lifecyclespage/orders/payment_window/"
        ParameterOverride.objects.all().delete()
        return self.client.post(address, {"value": "9 min", "seen": '"P0DT00H03M00S"', "reason": "because"})

    def fire_ship(self) -> Any:
        return self.fire(self.story.paid(), "ship", **{"input-carrier": "DHL", "input-tracking_number": "1"})

    def fire_cancel(self) -> Any:
        return self.fire(self.story.draft(), "cancel")

    def fire_expire(self) -> Any:
        return self.fire(self.story.awaiting(), "expire")

    def bulk_ship(self) -> Any:
        data = {"input-carrier": "DHL", "input-tracking_number": "1"}
        return self.rows_of_orders(self.story.paid(), "ship", **data)

    def bulk_cancel_orders(self) -> Any:
        return self.rows_of_orders(self.story.draft(), "cancel")

    def save_order(self) -> Any:
        order = self.story.paid()
        data = {"customer": "Somebody else", "title": order.title, "fail_checkouts": 0, "fail_refunds": 0}
        return self.client.post(f"/admin/orders/order/{order.pk}/change/", data)

    def create_order(self) -> Any:
        data = {"customer": "Ada", "title": "Cups", "amount_cents": 4800, "currency": "EUR"}
        return self.client.post("/admin/orders/order/add/", {**data, "fail_checkouts": 0, "fail_refunds": 0})


setattr(Submission, "continue", lambda self: self.run(self._stuck(), "continue"))


@pytest.mark.parametrize("operator_action", ACTIONS)
def test_every_operator_action_is_asked_for_its_permission_when_the_form_arrives(
    operator_action: str, story: Story, people: dict[str, Any], browser_of: Callable[[Any], Client]
) -> None:
    found = {}
    for who, user in people.items():
        client = browser_of(user)
        told = Submission(story, client)
        seen: list[Any] = []

        def sent(address: str, data: Any, client: Client = client, seen: list[Any] = seen) -> Any:
            seen.append(rows())
            return Client.post(client, address, data)

        client.post = sent  # type: ignore[method-assign, assignment]
        response = told.send(operator_action)
        changed = rows() != seen[-1]
        said = answer(response)
        if said == OK:
            said = DONE if changed else "refused"
        found[who] = said
        assert changed == (said == DONE), (who, said)
    assert found == ACTIONS[operator_action]


def test_the_matrix_of_operator_actions_is_whole() -> None:
    assert sum(len(answers) for answers in ACTIONS.values()) == 105


def test_nothing_is_done_without_a_csrf_token(story: Story) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(story.boss)
    order = story.paid()
    before = rows()
    data = {"version": order.lifecycle.version, "input-carrier": "DHL", "input-tracking_number": "1"}
    assert client.post(f"/admin/orders/order/{order.pk}/lifecycle/orders/ship/", data).status_code == 403
    run = story.run_of(order, "orders.create_checkout")
    assert client.post(f"/admin/lifecycle/run/{run.pk}/change/", {"operator_action": "cancel"}).status_code == 403
    address = "/admin/lifecycle/lifecyclespage/orders/payment_window/"
    assert client.post(address, {"value": "9 min", "seen": "null"}).status_code == 403
    assert rows() == before
