"""Sentences that people meet on the shop's pages, as they are read aloud."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation

from lifecycle.runtime import create
from lifecycle.testing import Kit
from orders.factories import OrderFactory
from orders.models import Order
from orders.payments import ProviderUnavailable
from orders.web import console
from tests.orders.provider import FakePayments

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider's card is empty; pages come without it."""
    monkeypatch.setattr(console, "card", lambda order: console.Card())


def read(browser: Client, path: str) -> str:
    """The words of a page, as one line."""
    page = browser.get(path).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page[page.index("<main") :]).split())


def test_the_list_begins_with_one_sentence(clerk_client: Client) -> None:
    assert "0 open. Nothing needs a person." in read(clerk_client, "/")
    OrderFactory(status="refund_needs_attention")
    assert "1 open: one refund needs a person." in read(clerk_client, "/")
    OrderFactory(status="paid")
    assert "2 open: 1 to ship, one refund needs a person." in read(clerk_client, "/")


def test_an_error_and_when_it_was_are_one_sentence(
    clerk_client: Client, clerk: User, lifecycle: Kit, payments: FakePayments
) -> None:
    order = create(Order(customer="Ada", title="Cups", amount_cents=4800), actor=clerk)
    payments.trouble = [ProviderUnavailable("503 Provider unavailable (simulated).")]
    order.lifecycle.fire("checkout", actor=clerk)
    lifecycle.run_due()
    page = read(clerk_client, f"/orders/{order.pk}/")
    clock = r"\d\d:\d\d:\d\d"
    assert re.search(rf"503 Provider unavailable \(simulated\) at {clock}, to be tried again at {clock}", page), page


def test_a_cancelled_order_does_not_say_that_it_is_over_and_that_money_may_come(clerk_client: Client) -> None:
    page = read(clerk_client, f"/orders/{OrderFactory(status='cancelled').pk}/")
    assert "in Cancelled, nothing is left to do" in page
    assert "What may still come The customer may have paid; that money is given back → Refunding" in page
    assert "What we wait for" not in page


def test_cancelling_a_draft_promises_nothing_about_a_checkout_that_is_not_there(clerk_client: Client) -> None:
    page = read(clerk_client, f"/orders/{OrderFactory(status='draft').pk}/")
    assert "A checkout that is open at the provider is closed." in page


def test_who_was_faster_with_oneself_is_not_told_of_someone_else(clerk_client: Client, clerk: User) -> None:
    order = OrderFactory(status="paid")
    order.lifecycle.fire("ship", actor=clerk, input={"carrier": "UPS", "tracking_number": "1Z"})
    page = clerk_client.post(f"/orders/{order.pk}/fire/ship/", {"version": 0}).content.decode()
    assert "Done before, please look again." in page
    assert "someone else" not in page


def test_the_creation_is_named_in_words(clerk_client: Client, clerk: User) -> None:
    order = create(Order(customer="Ada", title="Cups", amount_cents=4800), actor=clerk)
    page = clerk_client.post(f"/orders/{order.pk}/fire/checkout/", {"version": 0}).content.decode()
    assert "You did “Created” yourself" in page
    assert "$create" not in page


def test_a_page_that_is_newer_than_the_order_is_told_only_that(clerk_client: Client) -> None:
    order = OrderFactory(status="paid")
    page = clerk_client.post(f"/orders/{order.pk}/fire/ship/", {"version": 9}).content.decode()
    assert "This page is not up to date, please look again." in page
    assert "someone else" not in page


def test_an_order_has_its_name_in_the_readers_language() -> None:
    order = OrderFactory()
    assert str(order) == f"Order {order.pk}"
    with translation.override("de"):
        assert str(order) == f"Bestellung {order.pk}"
