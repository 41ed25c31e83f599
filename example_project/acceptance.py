"""Acceptance: the table of what the example must do, each row driven over HTTP against the running stack.

A row is a function; it does what a person would do, and asserts what that person must see. Rows that set a switch for
everybody (the provider's latency, the payment window, the worker's life) run alone, the others side by side.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from example_project.visitor import Visitor

SIDE_BY_SIDE = 4


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    do: str
    see: str
    drive: Callable[[Any], None]
    alone: bool = False
    needs_redis: bool = False

    @property
    def name(self) -> str:
        return self.drive.__name__


ROWS: list[Row] = []


def row(do: str, see: str, *, alone: bool = False, needs_redis: bool = False) -> Callable[[Any], Any]:
    def add(drive: Callable[[Any], None]) -> Callable[[Any], None]:
        ROWS.append(Row(do=do, see=see, drive=drive, alone=alone, needs_redis=needs_redis))
        return drive

    return add


class Scene:
    """What a row may use: a visitor, and the strings the command holds (worker, Redis, payment window)."""

    def __init__(self, visitor: Visitor, second: Visitor, powers: Any) -> None:
        self.visitor = visitor
        self.second = second
        self.powers = powers


# The rows, in the order of the table --------------------------------------------------------------


@row("Pay, pay in the sandbox, ship", "awaiting_payment → paid → fulfilled")
def pay_and_ship(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.paid()
    shop.fire(order, "ship", carrier="DHL", tracking_number="00340434161094021501")
    view = shop.view(order)
    assert view["state"] == "fulfilled", view["state"]
    assert view["record"]["tracking_number"] == "00340434161094021501"
    assert shop.story(order) == ["$create", "checkout", "checkout_created", "payment_succeeded", "ship"], shop.story(
        order
    )


@row("fail_checkouts = 2, Pay", "third attempt succeeds")
def third_attempt_succeeds(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.awaiting(fail_checkouts=2)
    run = shop.run(order, "orders.create_checkout")
    assert (run["status"], run["attempts"]) == ("succeeded", 3), run
    assert len(shop.sessions(order)) == 1


@row("fail_checkouts = 3, Pay", "payment_failed; Pay again works with a new attempt number and key")
def pay_again_after_failed_checkouts(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.new_order(fail_checkouts=3)
    shop.fire(order, "checkout")
    view = shop.until(order, "payment_failed", 30)
    assert "unavailable" in view["record"]["last_error"], view["record"]["last_error"]
    assert shop.sessions(order) == []
    shop.fire(order, "checkout")
    view = shop.until(order, "awaiting_payment")
    assert view["record"]["payment_attempt"] == 2
    assert view["record"]["last_error"] == ""
    assert [session["idempotency_key"] for session in shop.sessions(order)] == [f"order-checkout:{order}:2"]


@row("wait past the window", "cancelled (timeout), session expired, paying it refused", alone=True)
def expires_unpaid(scene: Scene) -> None:
    shop = scene.visitor
    with scene.powers.payment_window(seconds=1):
        order = shop.awaiting()
        view = shop.until(order, "cancelled")
    assert view["record"]["cancel_reason"] == "timeout"
    shop.wait_until("the session expired", lambda: shop.session(order)["status"] == "expired", 20)
    refused = shop.sandbox("POST", f"sessions/{shop.session(order)['id']}/pay", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "SESSION_CLOSED"), refused.text
    assert shop.view(order)["state"] == "cancelled"


@row("decline, pay again", "payment_failed with the reason; a second, different session")
def decline_and_pay_again(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.awaiting()
    shop.provider(order, "decline", session=shop.session(order)["id"])
    view = shop.until(order, "payment_failed")
    assert view["record"]["last_error"] == "Insufficient funds", view["record"]["last_error"]
    shop.fire(order, "checkout")
    shop.until(order, "awaiting_payment")
    assert len({session["id"] for session in shop.sessions(order)}) == 2
    shop.pay(order)
    shop.until(order, "paid")


@row("hold the webhook, cancel, deliver", "cancelled → refunding → refunded, with the whole story in the history")
def paid_after_cancel(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.awaiting()
    shop.provider(order, "hold", hold="1")
    shop.pay(order)
    assert shop.events(order)[0]["status"] == "held"
    shop.fire(order, "cancel")
    shop.until(order, "cancelled")
    shop.provider(order, "deliver", event=shop.events(order)[0]["id"])
    view = shop.until(order, "refunded")
    story = ["$create", "checkout", "checkout_created", "cancel", "paid_after_cancel", "refunded"]
    assert shop.story(order) == story, shop.story(order)
    assert [refund["id"] for refund in shop.refunds(order)] == [view["record"]["refund_ref"]]


@row("fail_refunds = 3, pay, refund", "refund_needs_attention; Retry refund → refunded")
def retry_refund(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.paid(fail_refunds=3)
    shop.fire(order, "refund_order")
    shop.until(order, "refund_needs_attention", 30)
    assert shop.refunds(order) == []
    shop.fire(order, "retry_refund")
    view = shop.until(order, "refunded")
    assert [refund["id"] for refund in shop.refunds(order)] == [view["record"]["refund_ref"]]
    assert view["record"]["last_error"] == ""


@row("deliver the same event twice", "replayed; history unchanged")
def delivered_twice(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.paid()
    before = shop.view(order)
    shop.provider(order, "deliver", event=shop.events(order)[0]["id"])
    outcomes = [delivery["answer"].get("outcome") for delivery in shop.events(order)[0]["deliveries"]]
    assert outcomes == ["applied", "replayed"], outcomes
    after = shop.view(order)
    assert (after["version"], after["history"]) == (before["version"], before["history"])


@row("webhook before the checkout is recorded", "paid; the late checkout_created is dropped and says why", alone=True)
def paid_before_checkout_is_recorded(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.new_order()
    with latency(shop, 3):
        shop.fire(order, "checkout")
        shop.wait_until("the provider has opened a session", lambda: shop.sessions(order), 20)
        assert shop.view(order)["state"] == "creating_checkout"
        shop.pay(order)
        shop.until(order, "paid")
        shop.wait_until(
            "the effect is done", lambda: shop.run(order, "orders.create_checkout")["status"] == "succeeded", 20
        )
    run = shop.run(order, "orders.create_checkout")
    assert run["follow_up"] == "dropped", run
    assert run["follow_up_error"], run
    assert "checkout_created" not in shop.story(order)


@row("late decline on a draft; unknown order", "ignored, with the reason")
def ignored_events(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.new_order()
    answer = shop.send(new_event_id(), declined(f"order-{order}"))
    assert answer.status_code == 200
    assert (answer.json()["outcome"], answer.json()["code"]) == ("ignored", "invalid_state"), answer.text
    assert answer.json()["reason"]
    answer = shop.send(new_event_id(), declined("order-999999999"))
    assert answer.status_code == 200
    assert (answer.json()["outcome"], answer.json()["code"]) == ("ignored", "record_not_found"), answer.text
    assert shop.story(order) == ["$create"]


@row("wrong signature, stale timestamp, replayed id", "401, 401, replayed; nothing changes")
def forged_events(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.awaiting()
    session = shop.session(order)
    body, event = declined(f"order-{order}", session=session["id"]), new_event_id()
    before = shop.view(order)
    wrong = "whsec_" + base64.b64encode(b"somebody else's secret").decode()
    assert shop.send(event, body, secret=wrong).status_code == 401
    assert shop.send(event, body, timestamp=int(time.time()) - 301).status_code == 401
    assert shop.send(event, body, leave_out=["webhook-signature"]).status_code == 401
    assert shop.view(order)["version"] == before["version"]
    assert shop.send(event, body).json()["outcome"] == "applied"
    applied = shop.view(order)
    assert shop.send(event, body).json()["outcome"] == "replayed"
    assert shop.view(order)["history"] == applied["history"]


@row("pay a wrong amount", "refunded in full, reason kept")
def wrong_amount(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.awaiting()
    shop.pay(order, amount="47.00")
    view = shop.until(order, "payment_failed")
    assert "€47.00 was paid instead of €48.00" in view["record"]["last_error"], view["record"]["last_error"]
    stray = given_back(shop, order)
    assert stray["amount_cents"] == 4700, stray
    assert "€47.00 was paid instead of €48.00" in stray["reason"]
    assert [refund["amount_cents"] for refund in shop.refunds(order)] == [4700]


@row("pay a paid order once more", "the second payment is refunded in full and seen; the order stays paid")
def second_payment(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.paid()
    first = shop.view(order)["record"]["payment_ref"]
    shop.pay(order, again="1")
    stray = given_back(shop, order)
    view = shop.view(order)
    assert (view["state"], view["record"]["payment_ref"]) == ("paid", first)
    assert [refund["payment_ref"] for refund in shop.refunds(order)] == [stray["payment_ref"]]
    assert stray["payment_ref"] in shop.page(order)


@row("kill the worker in the middle of an effect", "done once more under the same key, after the lease", alone=True)
def worker_killed(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.new_order()
    with latency(shop, 6):
        shop.fire(order, "checkout")
        shop.wait_until("the provider has been asked", lambda: shop.sessions(order), 20)
        scene.powers.kill_worker()
    assert shop.view(order)["state"] == "creating_checkout"
    scene.powers.start_worker()
    shop.until(order, "awaiting_payment", 60)
    run = shop.run(order, "orders.create_checkout")
    assert (run["status"], run["crashes"]) == ("succeeded", 1), run
    sessions = shop.sessions(order)
    assert [(one["idempotency_key"], one["times_asked"]) for one in sessions] == [(f"order-checkout:{order}:1", 2)], (
        sessions
    )


@row(
    "stop Redis while paying", "the request answers at once; the effect runs by the tick", alone=True, needs_redis=True
)
def redis_stopped(scene: Scene) -> None:
    shop = scene.visitor
    order = shop.new_order()
    page = shop.page(order)
    scene.powers.stop_redis()
    try:
        started = time.monotonic()
        assert shop.press(order, "checkout", page=page).status_code == 302
        took = time.monotonic() - started
    finally:
        scene.powers.start_redis()
    assert took < 1, f"the request took {took:.2f} s"
    shop.until(order, "awaiting_payment", 60)


@row("two people press Ship", "one ships, the other is told")
def two_people_ship(scene: Scene) -> None:
    first, second = scene.visitor, scene.second
    order = first.paid()
    pages = [first.page(order), second.page(order)]
    together = threading.Barrier(2)

    def ship(who: Visitor, page: str, number: str) -> Any:
        together.wait(10)
        return who.press(order, "ship", page=page, carrier="DHL", tracking_number=number)

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(ship, (first, second), pages, ("first", "second")))
    assert sorted(answer.status_code for answer in answers) == [302, 409], [answer.status_code for answer in answers]
    told = next(answer for answer in answers if answer.status_code == 409)
    assert "Handled by someone else, please look again." in told.text
    assert first.story(order).count("ship") == 1


# What the rows share ------------------------------------------------------------------------------


def new_event_id() -> str:
    return f"evt_{uuid.uuid4().hex[:10]}"


def declined(reference: str, session: str = "cs_UNKNOWN") -> bytes:
    """The body of an event that says a payment was declined."""
    data = {"reference": reference, "session_id": session, "metadata": {}, "reason": "Insufficient funds"}
    return json.dumps({"type": "payment.declined", "timestamp": "2026-03-12T14:02:31Z", "data": data}).encode()


def given_back(shop: Visitor, order: int) -> dict[str, Any]:
    """The order's one stray payment, once it is refunded."""

    def refunded() -> Any:
        strays = shop.view(order)["record"]["stray_payments"]
        return strays if strays and all(stray["status"] == "refunded" for stray in strays) else None

    strays: list[dict[str, Any]] = shop.wait_until("the stray payment is refunded", refunded, 20)
    assert len(strays) == 1, strays
    return strays[0]


@contextmanager
def latency(shop: Visitor, seconds: float) -> Iterator[None]:
    """While open, the provider's answers come late."""
    shop.switch(latency_seconds=seconds)
    try:
        yield
    finally:
        shop.switch(latency_seconds=0)


# Running them -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of a row: ``error`` is empty when it held, ``skipped`` says why it was not driven."""

    row: Row
    error: str = ""
    skipped: str = ""
    seconds: float = 0.0


def run(scene: Callable[[], Any], skip: Callable[[Row], str], told: Callable[[Result], None]) -> list[Result]:
    """Drives all rows; ``told`` hears of each as soon as it is known, in the table's order.

    Args:
        scene: opens what one row may use (a context manager, one per row).
        skip: why a row cannot be driven here, or "".
    """
    together = [one for one in ROWS if not one.alone]
    results: dict[str, Result] = {}
    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="row") as pool:
        running: dict[str, Future[Result]] = {one.name: pool.submit(_drive, one, scene) for one in together}
        try:
            for one in together:
                results[one.name] = running[one.name].result()
        except BaseException:
            # Rows that have begun end with the stack; those that have not are not begun.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for one in ROWS:
        if one.alone:
            why_not = skip(one)
            results[one.name] = Result(row=one, skipped=why_not) if why_not else _drive(one, scene)
        told(results[one.name])
    return [results[one.name] for one in ROWS]


def _drive(one: Row, scene: Callable[[], Any]) -> Result:
    started = time.monotonic()
    try:
        with scene() as opened:
            one.drive(opened)
    except Exception as error:  # noqa: BLE001 - whatever a row met is its result, and the other rows are still to be driven
        message = str(error) or type(error).__name__
        return Result(row=one, error=message, seconds=time.monotonic() - started)
    return Result(row=one, seconds=time.monotonic() - started)
