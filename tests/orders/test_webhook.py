"""What becomes of what the provider delivers."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from lifecycle.exceptions import Conflict
from lifecycle.testing import Kit
from orders.factories import OrderFactory
from orders.models import StrayPayment
from orders.webhook import events, outcomes, receiver
from tests.orders.provider import FakePayments, event, post, send

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def provider(payments: FakePayments) -> FakePayments:
    return payments


@pytest.mark.parametrize("state", ["creating_checkout", "awaiting_payment", "payment_failed"])
def test_a_payment_pays_the_order(state: str) -> None:
    order = OrderFactory(status=state, last_error="Declined")
    answer = send(event(order, "payment.succeeded"))
    assert answer.status_code == 200
    assert answer.json() == {"outcome": "applied", "transition": "payment_succeeded", "version": 1}
    order.refresh_from_db()
    assert (order.status, order.payment_ref, order.last_error) == ("paid", "pay_1", "")
    entry = order.lifecycle.history.last()
    assert (entry.request_id, entry.actor_kind, entry.actor_label) == ("sandbox:evt_1", "machine", "Sandbox provider")


def test_a_decline_keeps_its_reason() -> None:
    order = OrderFactory(status="awaiting_payment")
    assert send(event(order, "payment.declined")).json()["outcome"] == "applied"
    order.refresh_from_db()
    assert (order.status, order.last_error) == ("payment_failed", "Insufficient funds")


def test_money_that_comes_after_the_end_is_given_back(lifecycle: Kit, provider: FakePayments) -> None:
    order = OrderFactory(status="cancelled", cancel_reason="customer")
    assert send(event(order, "payment.succeeded")).json()["transition"] == "paid_after_cancel"
    lifecycle.run_due()
    order.refresh_from_db()
    assert (order.status, order.refund_ref) == ("refunded", "re_pay_1")


@pytest.mark.parametrize("state", ["awaiting_payment", "cancelled"])
def test_the_same_event_again_is_a_replay_whichever_transition_took_it(state: str) -> None:
    order = OrderFactory(status=state)
    assert send(event(order, "payment.succeeded")).json()["outcome"] == "applied"
    assert send(event(order, "payment.succeeded")).json() == {"outcome": "replayed"}
    assert order.lifecycle.history.count() == 1


def test_another_event_about_the_recorded_payment_is_ignored_and_nothing_is_refunded() -> None:
    order = OrderFactory(status="paid", payment_ref="pay_1")
    answer = send(event(order, "payment.succeeded"), "evt_2").json()
    assert (answer["outcome"], answer["code"]) == ("ignored", "already_recorded")
    assert not StrayPayment.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"amount_cents": 4700}, "€47.00 was paid instead of €48.00."),
        ({"currency": "USD"}, "$48.00 was paid instead of €48.00."),
    ],
)
def test_a_wrong_amount_is_recorded_told_and_given_back_in_full(
    lifecycle: Kit, provider: FakePayments, wrong: dict[str, Any], reason: str
) -> None:
    order = OrderFactory(status="awaiting_payment")
    answer = send(event(order, "payment.succeeded", **wrong)).json()
    assert (answer["outcome"], answer["stray_payment"], answer["transition"]) == (
        "applied",
        "pay_1",
        "payment_declined",
    )
    order.refresh_from_db()
    assert (order.status, order.payment_ref) == ("payment_failed", "")
    assert order.last_error == f"{reason} It is given back in full."
    lifecycle.run_due()
    stray = StrayPayment.objects.get()
    assert (stray.order, stray.status, stray.refund_ref, stray.reason) == (order, "refunded", "re_pay_1", reason)
    assert provider.calls == [("refund", f"stray-refund:{order.pk}:pay_1")]


@pytest.mark.parametrize("state", ["draft", "paid", "refunding", "refund_needs_attention", "fulfilled", "refunded"])
def test_a_payment_that_nobody_waits_for_is_given_back_and_the_order_stays(
    lifecycle: Kit, provider: FakePayments, state: str
) -> None:
    order = OrderFactory(status=state, payment_ref="" if state == "draft" else "pay_0")
    assert send(event(order, "payment.succeeded")).json()["code"] == "not_awaited"
    lifecycle.run_due()
    assert StrayPayment.objects.get().status == "refunded"
    order.refresh_from_db()
    assert (order.status, order.lifecycle_version) == (state, 0)


def test_a_stray_payment_delivered_again_is_given_back_once(lifecycle: Kit, provider: FakePayments) -> None:
    order = OrderFactory(status="paid", payment_ref="pay_0")
    for event_id in ("evt_1", "evt_1", "evt_2"):
        send(event(order, "payment.succeeded"), event_id)
    lifecycle.run_due()
    assert StrayPayment.objects.count() == 1
    assert len(provider.calls) == 1


def test_a_late_decline_of_an_earlier_round_says_nothing_about_this_one() -> None:
    order = OrderFactory(status="awaiting_payment", payment_attempt=2)
    late = send(event(order, "payment.declined", metadata={"payment_attempt": 1})).json()
    assert (late["outcome"], late["code"]) == ("ignored", "earlier_round")
    order.refresh_from_db()
    assert order.status == "awaiting_payment"


@pytest.mark.parametrize("reference", ["order-999999", "order-", "order-1x", "invoice-1", "order-" + "9" * 60])
def test_an_unknown_order_is_ignored_and_says_so(reference: str) -> None:
    answer = send(event(OrderFactory(), "payment.declined", reference=reference))
    assert answer.status_code == 200
    assert (answer.json()["outcome"], answer.json()["code"]) == ("ignored", "record_not_found")
    assert reference in answer.json()["reason"]


def test_a_late_decline_on_a_draft_and_an_unknown_kind_are_ignored_with_the_reason() -> None:
    order = OrderFactory()
    assert send(event(order, "payment.declined")).json()["code"] == "invalid_state"
    assert send(event(order, "payment.disputed")).json()["code"] == "unknown_event"
    order.refresh_from_db()
    assert (order.status, order.lifecycle_version) == ("draft", 0)


def test_nothing_is_read_before_the_signature_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(events, "read", lambda *given: read.append(given))
    order = OrderFactory(status="awaiting_payment")
    body = event(order, "payment.declined")
    assert send(body, secret="whsec_b3RoZXI=").status_code == 401
    assert send(body, timestamp=int(time.time()) - 301).status_code == 401
    assert post(json.dumps(body).encode(), {}).status_code == 401
    assert send(b"not json", secret="whsec_b3RoZXI=").status_code == 401
    assert read == []


def test_more_than_64_kib_is_refused_unread(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert send(b" " * (receiver.LARGEST + 1)).status_code == 413
    assert send(b" " * receiver.LARGEST).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 50_000,
        {"type": "payment.declined", "timestamp": "now"},
        {"type": 7, "timestamp": "now", "data": {}},
        {"type": "payment.declined", "data": {}},
        {"type": "payment.declined", "timestamp": "now", "data": {"reference": "order-1"}},
    ],
    ids=lambda body: str(body)[:40],
)
def test_a_signed_body_that_is_no_event_is_malformed(body: Any) -> None:
    assert send(body).status_code == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"amount_cents": "4800"},
        {"amount_cents": True},
        {"amount_cents": 0},
        {"amount_cents": 2**40},
        {"amount_cents": 1e300},
        {"currency": "EURO"},
        {"payment_ref": ""},
        {"payment_ref": "p" * 65},
        {"payment_ref": "pay\x00"},
        {"reference": None},
        {"session_id": []},
    ],
    ids=str,
)
def test_a_payment_with_a_part_of_the_wrong_kind_is_malformed_and_changes_nothing(wrong: dict[str, Any]) -> None:
    order = OrderFactory(status="awaiting_payment")
    assert send(event(order, "payment.succeeded", **wrong)).status_code == 400
    order.refresh_from_db()
    assert (order.status, order.lifecycle_version) == ("awaiting_payment", 0)


def test_an_event_id_too_long_to_remember_is_malformed() -> None:
    assert send(event(OrderFactory(), "payment.declined"), "e" * 151).status_code == 400


@pytest.mark.parametrize("trouble", [Conflict("Somebody else was faster."), OperationalError("the database is away")])
def test_trouble_that_passes_is_answered_so_that_it_is_delivered_again(
    monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    def fail(event: Any) -> Any:
        raise trouble

    monkeypatch.setattr(outcomes, "apply", fail)
    answer = send(event(OrderFactory(), "payment.declined"))
    assert (answer.status_code, answer.json()["code"]) == (503, "try_again")


def test_only_posts_are_taken() -> None:
    assert Client().get("/webhooks/sandbox/").status_code == 405


def test_a_stray_payment_that_cannot_be_written_is_delivered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    order = OrderFactory(status="paid", payment_ref="pay_0")

    def fail(*args: Any, **options: Any) -> Any:
        raise OperationalError("the connection is gone")

    monkeypatch.setattr(outcomes, "create", fail)
    assert send(event(order, "payment.succeeded")).status_code == 503
    assert not StrayPayment.objects.exists()
