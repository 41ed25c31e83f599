"""The shop's REST interface, as far as it is the shop's: who may, what is shown, what is written."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from lifecycle.testing import Kit
from orders.factories import OrderFactory, StrayPaymentFactory
from orders.models import Order

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("address", ["", "{pk}/", "{pk}/lifecycle/", "lifecycle/"])
def test_only_people_who_work_here_are_answered(address: str, clerk_client: Client) -> None:
    path = f"/api/orders/{address.format(pk=OrderFactory().pk)}"
    assert Client().get(path).status_code == 403
    customer = Client()
    customer.force_login(User.objects.create_user("customer"))
    assert customer.get(path).status_code == 403
    assert clerk_client.get(path).status_code == 200


def test_an_order_is_begun_and_fired(clerk_client: Client, lifecycle: Kit) -> None:
    body = {"customer": "Ada", "title": "Cups", "amount_cents": 4800, "currency": "EUR", "request_id": "r1"}
    created = clerk_client.post("/api/orders/", body, content_type="application/json")
    assert created.status_code == 201, created.content
    order = created.json()["record"]["id"]
    fire: dict[str, Any] = {"transition": "checkout", "request_id": "r2", "expect_version": 1}
    fired = clerk_client.post(f"/api/orders/{order}/fire/", fire, content_type="application/json")
    assert (fired.status_code, fired.json()["state"]) == (200, "creating_checkout")
    lifecycle.assert_pending("orders.create_checkout")


def test_what_transitions_write_is_not_taken_from_a_body(clerk_client: Client) -> None:
    body = {"customer": "Ada", "title": "Cups", "amount_cents": 4800, "payment_ref": "pay_1", "status": "paid"}
    answer = clerk_client.post("/api/orders/", body, content_type="application/json")
    assert answer.status_code in (201, 400)
    assert not Order.objects.exclude(payment_ref="", status="draft").exists()


def test_stray_payments_are_shown_with_their_order(clerk_client: Client) -> None:
    stray = StrayPaymentFactory()
    record = clerk_client.get(f"/api/orders/{stray.order.pk}/lifecycle/").json()["record"]
    assert [(one["payment_ref"], one["status"]) for one in record["stray_payments"]] == [
        (stray.payment_ref, "refunding")
    ]
