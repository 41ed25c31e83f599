"""Paid money: an event about it is booked, given back, or refused until somebody looks; an order can always be paid."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from lifecycle import SYSTEM
from lifecycle.exceptions import InvalidInput
from lifecycle.runtime import create
from orders.factories import OrderFactory
from orders.lifecycles import OrderLifecycle
from orders.models import Order, StrayPayment
from tests.orders.provider import SECRET, event, send

pytestmark = pytest.mark.django_db

HALF = "\ud83d"


@pytest.fixture(autouse=True)
def shop(settings: Any) -> None:
    settings.ROOT_URLCONF = "example_project.urls"
    settings.PAYMENTS = {"URL": "http://127.0.0.1:1/", "TOKEN": "shop", "TIMEOUT": 1.0, "WEBHOOK_SECRETS": [SECRET]}


@pytest.mark.row("D11")
@pytest.mark.parametrize("bad", [HALF, f"pay{HALF}", "pay\x00", "   "], ids=ascii)
@pytest.mark.parametrize("name", ["payment_ref", "session_id", "currency", "reference"])
@pytest.mark.parametrize("state", ["awaiting_payment", "paid", "cancelled"])
def test_an_event_about_money_whose_text_nobody_can_keep_is_refused_and_not_ignored(
    state: str, name: str, bad: str
) -> None:
    order = OrderFactory(status=state, payment_ref="pay_0" if state == "paid" else "")

    answer = send(event(order, "payment.succeeded", **{name: bad[-3:] if name == "currency" else bad}))

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_event")
    assert name in answer.json()["message"]
    order.refresh_from_db()
    assert (order.status, order.lifecycle_version, StrayPayment.objects.count()) == (state, 0, 0)


@pytest.mark.row("D11")
@pytest.mark.parametrize("attempt", [10**300, -1, 2**31], ids=["huge", "negative", "one too many"])
def test_a_number_nobody_can_keep_is_refused_and_not_ignored(attempt: int) -> None:
    order = OrderFactory(status="awaiting_payment")

    answer = send(event(order, "payment.succeeded", metadata={"payment_attempt": attempt}))

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_event")


@pytest.mark.row("D11")
@pytest.mark.parametrize("name", ["payment_ref", "session_id", "reason"])
def test_a_decline_whose_text_nobody_can_keep_is_refused_too(name: str) -> None:
    order = OrderFactory(status="awaiting_payment")

    assert send(event(order, "payment.declined", **{name: HALF})).status_code == (200 if name == "payment_ref" else 400)


@pytest.mark.row("D11")
def test_money_that_a_transition_cannot_take_as_it_is_said_is_refused_and_not_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise InvalidInput("payment_ref: not as we know it.")

    order = OrderFactory(status="awaiting_payment")
    monkeypatch.setattr(type(order.lifecycle), "fire", refuse)

    assert send(event(order, "payment.succeeded")).status_code == 400
    assert send(event(order, "payment.declined"), "evt_2").json()["outcome"] == "ignored"


@pytest.mark.row("D12")
@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "\u00a0\u2003"}, "title"),
        ({"customer": "\t"}, "customer"),
        ({"amount_cents": 2**31}, "amount_cents"),
        ({"amount_cents": 0}, "amount_cents"),
    ],
    ids=ascii,
)
def test_an_order_that_could_not_be_paid_is_refused_when_it_is_made(
    values: dict[str, Any], field: str, admin_user: User
) -> None:
    whole = {"customer": "Ada", "title": "Lamp", "amount_cents": 100, "currency": "EUR", **values}
    with pytest.raises(InvalidInput) as refused:
        create(Order(**whole), actor=SYSTEM)
    assert [problem.field for problem in refused.value.problems] == [field]

    api = APIClient()
    api.force_authenticate(admin_user)
    answer = api.post("/api/orders/", whole, format="json")
    assert (answer.status_code, [problem["field"] for problem in answer.json()["problems"]]) == (400, [field])


@pytest.mark.row("D12")
def test_the_largest_order_there_may_be_can_be_paid() -> None:
    order = create(Order(customer="Ada", title="House", amount_cents=2**31 - 1), actor=SYSTEM)
    order.lifecycle.fire("checkout", actor=SYSTEM)

    assert send(event(order, "payment.succeeded")).json()["transition"] == OrderLifecycle.payment_succeeded.name


@pytest.mark.row("D1")
@pytest.mark.parametrize("bad", [HALF, "half\x00"], ids=ascii)
@pytest.mark.parametrize("name", ["reason", "request_id"])
def test_a_reason_and_a_request_id_that_no_column_takes_are_refused_by_name(name: str, bad: str) -> None:
    order = OrderFactory()

    with pytest.raises(InvalidInput) as refused:
        order.lifecycle.fire("checkout", actor=SYSTEM, **{name: bad})
    assert [problem.field for problem in refused.value.problems] == [name]
    with pytest.raises(InvalidInput, match=name):
        create(Order(customer="Ada", title="Lamp", amount_cents=1), actor=SYSTEM, **{name: bad})
