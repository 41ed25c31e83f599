"""The order's process, with a provider that is an object and time that is told."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from lifecycle import SYSTEM
from lifecycle.exceptions import GuardRefused, InvalidInput, PermissionRefused
from lifecycle.runtime import create
from lifecycle.testing import Kit
from orders.factories import OrderFactory
from orders.models import Order
from orders.payments import ProviderRefused, ProviderUnavailable
from tests.orders.provider import FakePayments

pytestmark = pytest.mark.django_db


def new_order(admin: User, **values: Any) -> Order:
    return create(Order(customer="Ada", title="Cups", amount_cents=4800, **values), actor=admin)


def test_pay_enqueues_a_checkout_and_its_session_is_recorded(
    lifecycle: Kit, payments: FakePayments, admin: User
) -> None:
    order = new_order(admin)
    order.lifecycle.fire("checkout", actor=admin)
    assert order.status == "creating_checkout"
    lifecycle.run_due()
    order.refresh_from_db()
    assert (order.status, order.payment_attempt, order.payment_session_id) == ("awaiting_payment", 1, "cs_1")
    assert order.checkout_url == "http://127.0.0.1/pay/cs_1"
    assert payments.calls == [("open_session", f"order-checkout:{order.pk}:1")]


def test_every_attempt_asks_under_the_same_key(lifecycle: Kit, payments: FakePayments, admin: User) -> None:
    payments.trouble = [ProviderUnavailable("503 Away"), ProviderUnavailable("503 Away")]
    order = new_order(admin)
    order.lifecycle.fire("checkout", actor=admin)
    lifecycle.run_due(retries=True)
    order.refresh_from_db()
    assert order.status == "awaiting_payment"
    assert payments.calls == [("open_session", f"order-checkout:{order.pk}:1")] * 3


def test_three_failures_leave_the_reason_and_a_new_round_has_a_new_key(
    lifecycle: Kit, payments: FakePayments, admin: User
) -> None:
    payments.trouble = [ProviderUnavailable("503 Away")] * 3
    order = new_order(admin)
    order.lifecycle.fire("checkout", actor=admin)
    lifecycle.run_due(retries=True)
    order.refresh_from_db()
    assert (order.status, order.last_error) == ("payment_failed", "503 Away")
    order.lifecycle.fire("checkout", actor=admin)
    assert (order.payment_attempt, order.last_error) == (2, "")
    lifecycle.run_due()
    assert payments.calls[-1] == ("open_session", f"order-checkout:{order.pk}:2")


def test_a_no_of_the_provider_is_not_asked_again(lifecycle: Kit, payments: FakePayments, admin: User) -> None:
    payments.trouble = [ProviderRefused("AMOUNT_TOO_SMALL", "Below the minimum.")]
    order = new_order(admin)
    order.lifecycle.fire("checkout", actor=admin)
    lifecycle.run_due(retries=True)
    order.refresh_from_db()
    assert (order.status, order.last_error) == ("payment_failed", "Below the minimum.")
    assert len(payments.calls) == 1


def test_an_unpaid_order_is_cancelled_by_time_and_its_session_closed(
    lifecycle: Kit, payments: FakePayments, admin: User
) -> None:
    order = new_order(admin)
    order.lifecycle.fire("checkout", actor=admin)
    lifecycle.run_due()
    lifecycle.travel(seconds=170)
    lifecycle.tick()
    order.refresh_from_db()
    assert order.status == "awaiting_payment"
    lifecycle.travel(seconds=20)
    lifecycle.tick()
    lifecycle.run_due()
    order.refresh_from_db()
    assert (order.status, order.cancel_reason) == ("cancelled", "timeout")
    assert payments.calls[-1] == ("expire_session", f"order-close:{order.pk}:cs_1")


def test_cancelling_a_draft_calls_nobody(lifecycle: Kit, payments: FakePayments, admin: User) -> None:
    order = new_order(admin)
    order.lifecycle.fire("cancel", actor=admin)
    (run,) = lifecycle.run_due()
    assert (order.cancel_reason, run.status, run.result) == ("customer", "succeeded", {"session": None})
    assert payments.calls == []


def test_a_failed_refund_needs_a_person_and_is_retried_under_the_same_key(
    lifecycle: Kit, payments: FakePayments, admin: User
) -> None:
    order = OrderFactory(status="paid", payment_ref="pay_9")
    payments.trouble = [ProviderUnavailable("503 Away")] * 3
    order.lifecycle.fire("refund_order", actor=admin)
    lifecycle.run_due(retries=True)
    order.refresh_from_db()
    assert (order.status, order.cancel_reason) == ("refund_needs_attention", "refund_requested")
    order.lifecycle.fire("retry_refund", actor=admin)
    lifecycle.run_due()
    order.refresh_from_db()
    assert (order.status, order.refund_ref, order.last_error) == ("refunded", "re_pay_9", "")
    assert payments.calls == [("refund", f"order-refund:{order.pk}:pay_9")] * 4


def test_shipping_needs_its_form_and_its_permission(clerk: User) -> None:
    order = OrderFactory(status="paid")
    with pytest.raises(InvalidInput) as refused:
        order.lifecycle.fire("ship", actor=clerk, input={"carrier": "Pigeon"}, manual=True)
    assert {problem.field for problem in refused.value.problems} == {"carrier", "tracking_number"}
    with pytest.raises(PermissionRefused):
        order.lifecycle.fire("refund_order", actor=clerk, manual=True)
    order.lifecycle.fire("ship", actor=clerk, input={"carrier": "DHL", "tracking_number": "1Z"}, manual=True)
    assert (order.status, order.carrier, order.tracking_number) == ("fulfilled", "DHL", "1Z")


def test_a_payment_of_another_amount_or_currency_does_not_pay_an_order() -> None:
    order = OrderFactory(status="awaiting_payment")
    for wrong, code in (({"amount_cents": 4799}, "wrong_amount"), ({"currency": "USD"}, "wrong_currency")):
        with pytest.raises(GuardRefused) as refused:
            order.lifecycle.fire("payment_succeeded", actor=SYSTEM, input={"payment_ref": "pay_1", **wrong})
        assert refused.value.code == code
    order.refresh_from_db()
    assert (order.status, order.payment_ref, order.lifecycle_version) == ("awaiting_payment", "", 0)
