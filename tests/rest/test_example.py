"""The endpoints as the example opens them: orders that are shown with payments of their own life."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from example_project.settings import REST_FRAMEWORK
from lifecycle import SYSTEM
from lifecycle.runtime import create, fire
from orders.factories import OrderFactory
from orders.models import Order, StrayPayment
from tests.rest.conftest import client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(settings: Any, db: None) -> APIClient:
    settings.ROOT_URLCONF = "example_project.urls"
    settings.REST_FRAMEWORK = REST_FRAMEWORK
    return client_of(User.objects.create_superuser("root"))


@pytest.fixture
def order(shop: APIClient) -> Order:
    made: Order = OrderFactory()
    return made


def stray(order: Order) -> StrayPayment:
    payment = StrayPayment(order=order, payment_ref="pi_1", amount_cents=100, currency="EUR", reason="Too little.")
    made: StrayPayment = create(payment, actor=SYSTEM)
    return made


def view(shop: APIClient, order: Order, tag: str = "") -> Any:
    return shop.get(f"/api/orders/{order.pk}/lifecycle/", headers={"If-None-Match": tag})


def listed(shop: APIClient, **query: str) -> list[dict[str, Any]]:
    answer = shop.get("/api/orders/", query).json()
    rows: list[dict[str, Any]] = answer if isinstance(answer, list) else answer["results"]  # as the test's DRF pages
    return rows


def test_an_unchanged_order_is_told_by_one_statement(shop: APIClient, order: Order) -> None:
    stray(order)
    tag = view(shop, order)["ETag"]
    with CaptureQueriesContext(connection) as sent:
        assert view(shop, order, tag).status_code == 304
    assert len(sent) == 1


def test_an_order_is_another_one_when_a_stray_payment_comes_or_moves(shop: APIClient, order: Order) -> None:
    before = view(shop, order)["ETag"]
    payment = stray(order)
    came = view(shop, order, before)
    assert came.status_code == 200
    assert came.json()["record"]["stray_payments"][0]["status"] == "refunding"
    fire(payment, "refund_failed", actor=SYSTEM)
    moved = view(shop, order, came["ETag"])
    assert moved.status_code == 200
    assert moved.json()["record"]["stray_payments"][0]["status"] == "needs_attention"
    assert view(shop, order, moved["ETag"]).status_code == 304


def test_the_answer_of_a_fire_has_the_tag_of_the_next_view(shop: APIClient, order: Order) -> None:
    stray(order)
    fired = shop.post(f"/api/orders/{order.pk}/fire/", {"transition": "cancel"}, format="json")
    assert fired.status_code == 200
    assert view(shop, order, fired["ETag"]).status_code == 304


def test_orders_are_filtered_by_state(shop: APIClient, order: Order) -> None:
    other = OrderFactory()
    fire(other, "cancel", actor=SYSTEM)
    assert [one["id"] for one in listed(shop, state="cancelled")] == [other.pk]


def test_a_list_of_orders_costs_the_same_however_long(shop: APIClient, order: Order) -> None:
    stray(order)
    with CaptureQueriesContext(connection) as short:
        listed(shop)
    for _ in range(5):
        OrderFactory()
    with CaptureQueriesContext(connection) as long:
        assert len(listed(shop)) == 6
    assert len(long) == len(short)


def test_operators_have_their_lists(shop: APIClient, order: Order) -> None:
    fire(order, "checkout", actor=SYSTEM)
    [run] = shop.get("/api/lifecycle/runs/").json()["results"]
    assert (run["lifecycle"], run["effect"]) == ("orders", "orders.create_checkout")
    assert {"orders", "stray_payments"} <= {one["name"] for one in shop.get("/api/lifecycle/definitions/").json()}


def test_it_serves_its_description(shop: APIClient) -> None:
    described = shop.get("/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"})
    assert described.status_code == 200
    assert "/api/orders/{id}/fire/" in described.json()["paths"]
