"""Held triggers, history and actions: why time did not act, what happened, who did what."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from lifecycle.admin.lists.held import stamp
from lifecycle.admin.runs.page import stamp as stamp_of_run
from lifecycle.models import OperatorAction, TransitionLog, TriggerHold
from tests.admin.story import Story
from tests.admin.test_records import text

pytestmark = pytest.mark.django_db

LIST = "/admin/lifecycle/triggerhold/"


@pytest.fixture
def browser(story: Story, browser_of: Callable[[Any], Client]) -> Client:
    return browser_of(story.operator())


def address(hold: TriggerHold) -> str:
    return f"{LIST}{hold.pk}/change/"


def operator_action(hold: TriggerHold, name: str, **data: Any) -> dict[str, Any]:
    return {"operator_action": name, "seen": stamp(hold), "reason": "", **data}


def test_the_list_says_why_a_timeout_did_not_fire_and_when_it_is_asked_again(story: Story, browser: Client) -> None:
    order = story.held()
    said = text(browser.get(LIST))
    assert (
        f"expire_unpaid Expire → Cancelled Order {order.pk} Awaiting payment The accounting day is being closed."
        in said
    )
    page = text(browser.get(address(TriggerHold.objects.get())))
    assert f"“expire_unpaid” was due for Order {order.pk} and did not fire." in page
    assert "It was refused once. It is tried again by itself at" in page
    assert "Would fire Expire → Cancelled" in page


def test_a_held_timeout_is_fired_now_once_its_reason_is_gone(story: Story, browser: Client) -> None:
    order = story.held()
    hold = TriggerHold.objects.get()
    response = browser.post(address(hold), operator_action(hold, "fire", reason="try"))
    assert response.status_code == 409
    assert "It did not fire. The accounting day is being closed." in text(response)
    hold.refresh_from_db()
    assert hold.tries == 2
    story.open_the_day()
    response = browser.post(address(hold), operator_action(hold, "fire", reason="day is open"), follow=True)
    assert "It has fired." in text(response)
    order.refresh_from_db()
    assert (order.status, order.cancel_reason) == ("cancelled", "timeout")
    assert TriggerHold.objects.count() == 0
    entry = TransitionLog.objects.latest("id")
    assert (entry.actor_kind, entry.reason) == ("system", "timeout expire_unpaid, tried by an operator")
    assert list(OperatorAction.objects.order_by("id").values_list("action", "reason")) == [
        ("fire_held", "try"),
        ("fire_held", "day is open"),
    ]
    assert LogEntry.objects.count() == 1


def test_a_released_hold_is_asked_again_by_the_next_tick(story: Story, browser: Client) -> None:
    order = story.held()
    hold = TriggerHold.objects.get()
    story.open_the_day()
    story.kit.tick()
    order.refresh_from_db()
    assert order.status == "awaiting_payment"
    browser.post(LIST, {"action": "release", "_selected_action": [hold.pk], "index": 0, "reason": "day is open"})
    story.kit.tick()
    order.refresh_from_db()
    assert order.status == "cancelled"
    assert OperatorAction.objects.get().action == "release_hold"


def test_many_holds_are_reported_one_by_one(story: Story, browser: Client) -> None:
    first = story.held()
    second = story.held()
    story.open_the_day()
    first.lifecycle.fire("cancel", actor=story.boss)
    holds = list(TriggerHold.objects.order_by("id").values_list("pk", flat=True))
    response = browser.post(LIST, {"action": "fire_now", "_selected_action": [*holds, 999], "index": 0})
    said = text(response)
    assert "1 done 2 refused" in said
    assert "“expire_unpaid” is no longer due for this record" in said
    assert "999 Refused It is gone, or not among those you see" in said
    second.refresh_from_db()
    assert second.status == "cancelled"


def test_a_hold_that_was_asked_again_since_the_page_was_drawn_is_left_alone(story: Story, browser: Client) -> None:
    story.held()
    hold = TriggerHold.objects.get()
    stale = operator_action(hold, "fire", reason="typed")
    story.kit.travel(minutes=2)
    story.kit.tick()
    response = browser.post(address(hold), stale)
    assert response.status_code == 409
    assert "It was tried again since this page was loaded." in text(response)
    assert OperatorAction.objects.count() == 0


def test_a_hold_of_unknown_code_is_explained(story: Story, browser: Client) -> None:
    story.held()
    TriggerHold.objects.update(trigger="gone")
    hold = TriggerHold.objects.get()
    assert "Not possible: the trigger is unknown here" in text(browser.get(address(hold)))
    assert "has no code for the timeout or deadline “gone”" in text(
        browser.post(address(hold), operator_action(hold, "fire"))
    )


def test_history_and_operator_actions_are_lists_to_read_in_constant_queries(story: Story, browser: Client) -> None:
    def cost(url: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(url).status_code == 200
        return len(queries)

    pages = [LIST, "/admin/lifecycle/transitionlog/", "/admin/lifecycle/operatoraction/"]

    def more() -> None:
        order = story.held()
        hold = TriggerHold.objects.latest("id")
        browser.post(address(hold), operator_action(hold, "release", reason="r"))
        run = story.run_of(order, "orders.create_checkout")
        OperatorAction.objects.create(
            action="retry",
            run_id=run.pk,
            lifecycle="orders",
            record_id=run.record_id,
            actor_kind="user",
            at=run.created_at,
        )

    more()
    for page in pages:
        browser.get(page)
    before = [cost(page) for page in pages]
    for _ in range(3):
        more()
    assert [cost(page) for page in pages] == before


def test_no_column_or_field_of_the_lists_is_left_in_english(
    story: Story, browser_of: Callable[[Any], Client], settings: Any
) -> None:
    story.held()
    run = story.run_of(story.refund_failed(), "orders.refund")
    browser = browser_of(story.boss)
    data = {"operator_action": "retry", "seen": stamp_of_run(run), "reason": "x", "force": "1"}
    browser.post(f"/admin/lifecycle/run/{run.pk}/change/", data)
    settings.LANGUAGE_CODE = "de"
    entry, action = TransitionLog.objects.latest("id"), OperatorAction.objects.get()
    pages = [
        LIST, "/admin/lifecycle/transitionlog/", f"/admin/lifecycle/transitionlog/{entry.pk}/change/",
        "/admin/lifecycle/operatoraction/", f"/admin/lifecycle/operatoraction/{action.pk}/change/",
    ]  # fmt: skip
    english = r"\b(Tries|Lifecycle|Record id|Reason|Request id|Definition hash|actor kind|Input|Who|When)\b"
    for page in pages:
        html = browser.get(page).content.decode()
        shown = re.findall(r"<label.*?</label>|<th scope=.col.*?</th>|<summary>.*?</summary>", html, re.DOTALL)
        assert shown, page
        assert re.findall(english, re.sub(r"<[^>]*>", " ", " ".join(shown))) == [], page


def test_history_is_found_by_record_and_request(story: Story, browser: Client) -> None:
    order = story.paid("Lamp")
    story.draft("Mirror")
    base = "/admin/lifecycle/transitionlog/"
    assert "Payment succeeded Awaiting payment → Paid" in text(browser.get(base))
    assert "4 history entries" in text(browser.get(f"{base}?q={order.pk}"))
    assert "1 history entry" in text(browser.get(f"{base}?q=sandbox:evt_{order.pk}"))
    entry = TransitionLog.objects.get(transition="payment_succeeded")
    page = text(browser.get(f"{base}{entry.pk}/change/"))
    assert f'"payment_ref": "pay_{order.pk}"' in page
    assert "Sandbox provider" in page


def test_operator_actions_tell_who_did_what_to_what(story: Story, browser: Client) -> None:
    run = story.run_of(story.queued(), "orders.create_checkout")
    from lifecycle import operations
    from orders.lifecycles import OrderLifecycle

    operations.cancel_run(run, actor=story.boss, reason="typed twice")
    operations.set_parameter(OrderLifecycle.definition, "payment_window", "PT9M", actor=story.boss)
    said = text(browser.get("/admin/lifecycle/operatoraction/"))
    assert f"Cancel Run {run.pk} · Order" in said
    assert "ben typed twice" in said
    assert "Parameter changed orders: payment_window, 3 min → 9 min" in said
    assert "1 operator action" in text(browser.get(f"/admin/lifecycle/operatoraction/?q={run.pk}"))
    action_page = text(
        browser.get(f"/admin/lifecycle/operatoraction/{OperatorAction.objects.earliest('id').pk}/change/")
    )
    assert '"status": "queued"' in action_page
