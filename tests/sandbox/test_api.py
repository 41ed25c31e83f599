"""The provider's interface: one answer per key, closed sessions stay closed, switches."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from orders.sandbox.models import Event, Payment, Refund, Session
from tests.sandbox.conftest import Api

pytestmark = pytest.mark.django_db


def test_a_session_is_opened_once_per_key(api: Api) -> None:
    first, second = api.open_session("k1"), api.open_session("k1")
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    assert api.open_session("k2").json()["id"] != first.json()["id"]
    assert Session.objects.get(idempotency_key="k1").times_asked == 2


def test_a_key_used_for_something_else_is_refused(api: Api) -> None:
    api.open_session("k1")
    answer = api.open_session("k1", amount_cents=1)
    assert (answer.status_code, answer.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert Session.objects.get().amount_cents == 4800


def test_the_first_n_calls_about_a_reference_fail_whatever_their_key(api: Api) -> None:
    codes = [api.open_session(key, simulate_failures=2).status_code for key in ("k1", "k1", "k1", "k2")]
    assert codes == [503, 503, 201, 201]
    assert api.open_session("k3", simulate_failures=2, reference="order-2").status_code == 503


@pytest.mark.parametrize(("how", "status"), [("pay", "paid"), ("decline", "declined"), ("expire", "expired")])
def test_a_closed_session_is_neither_paid_nor_declined(api: Api, how: str, status: str) -> None:
    session = api.open_session().json()["id"]
    assert api("POST", f"sessions/{session}/{how}").json()["status"] == status
    for late in ("pay", "decline"):
        answer = api("POST", f"sessions/{session}/{late}")
        assert (answer.status_code, answer.json()["code"]) == (409, "SESSION_CLOSED")
    assert api("POST", f"sessions/{session}/expire").json()["status"] == status
    assert Event.objects.count() == (0 if how == "expire" else 1)


def test_a_paid_session_can_be_paid_once_more_on_purpose(api: Api) -> None:
    session = api.open_session().json()["id"]
    refs = {api("POST", f"sessions/{session}/pay", {"again": True}).json()["payment_ref"] for _ in range(2)}
    assert len(refs) == 2
    assert Event.objects.filter(type="payment.succeeded").count() == 2


def test_a_payment_is_refunded_once_per_key_and_once_at_all(api: Api) -> None:
    payment = api("POST", f"sessions/{api.open_session().json()['id']}/pay", {"amount_cents": 4700}).json()[
        "payment_ref"
    ]
    body = {"payment_ref": payment}
    first, again = api("POST", "refunds", body, "r1"), api("POST", "refunds", body, "r1")
    assert (first.status_code, again.status_code, first.json()) == (201, 200, again.json())
    assert first.json()["amount_cents"] == 4700
    other = api("POST", "refunds", body, "r2")
    assert (other.status_code, other.json()["code"]) == (409, "ALREADY_REFUNDED")
    assert Refund.objects.count() == 1
    assert api("POST", "refunds", {"payment_ref": "pay_NONE"}, "r3").status_code == 404


def test_refunds_fail_as_often_as_asked(api: Api) -> None:
    payment = api("POST", f"sessions/{api.open_session().json()['id']}/pay").json()["payment_ref"]
    body = {"payment_ref": payment, "simulate_failures": 3}
    assert [api("POST", "refunds", body, "r1").status_code for _ in range(4)] == [503, 503, 503, 201]


def test_without_the_token_nothing_is_told(api: Api) -> None:
    session = api.open_session().json()["id"]
    for method, path in [
        ("GET", "sessions?reference=order-1"),
        ("GET", f"sessions/{session}"),
        ("POST", f"sessions/{session}/pay"),
        ("POST", "refunds"),
        ("GET", "events?reference=order-1"),
        ("PUT", "switches"),
        ("PUT", "references/order-1/hold"),
        ("POST", "events/evt_1/deliver"),
    ]:
        assert api(method, path, token="wrong").status_code == 401
    assert Payment.objects.count() == 0


def test_an_outage_stops_the_merchants_calls_and_not_the_console(api: Api) -> None:
    session = api.open_session("k1").json()["id"]
    assert api("PUT", "switches", {"outage": True}).json() == {"latency_seconds": 0, "outage": True}
    assert api.open_session("k2").status_code == 503
    assert api("POST", f"sessions/{session}/pay").status_code == 200
    api("PUT", "switches", {"outage": False})
    assert api.open_session("k2").status_code == 201


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ("not json", "k"),
        ("[]", "k"),
        ("[" * 50_000, "k"),
        ({}, ""),
        ({"reference": "order-1", "amount_cents": 0, "currency": "EUR"}, "k"),
        ({"reference": "order-1", "amount_cents": True, "currency": "EUR"}, "k"),
        ({"reference": "order-1", "amount_cents": 2**31, "currency": "EUR"}, "k"),
        ({"reference": "order-1", "amount_cents": 4800, "currency": "eur"}, "k"),
        ({"reference": "", "amount_cents": 4800, "currency": "EUR"}, "k"),
        ({"reference": "order-1", "amount_cents": 4800, "currency": "EUR", "metadata": []}, "k"),
        ({"reference": "order-1", "amount_cents": 4800, "currency": "EUR"}, "k" * 201),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bad_requests_are_told_so_and_nothing_is_opened(api: Api, body: Any, key: str) -> None:
    answer = api("POST", "sessions", body, key)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert not Session.objects.exists()


def test_the_checkout_page_pays_and_refuses_a_closed_session(api: Api) -> None:
    from django.test import Client

    session = Session.objects.get(pk=api.open_session().json()["id"])
    page = Client().get(f"/sandbox/pay/{session.pk}")
    assert page.status_code == 200
    assert Client().post(f"/sandbox/pay/{session.pk}", {"do": "pay"}).status_code == 302
    late = Client().post(f"/sandbox/pay/{session.pk}", {"do": "pay"})
    assert late.status_code == 409
    assert "cannot be paid" in late.content.decode()
    assert Client(enforce_csrf_checks=True).post(f"/sandbox/pay/{session.pk}", {"do": "pay"}).status_code == 403
    assert Client().get("/sandbox/pay/cs_NONE").status_code == 404


def test_the_checkout_page_leads_back_to_the_shop_whatever_became_of_the_session(client: Client) -> None:
    session = Session.objects.create(idempotency_key="k", reference="order-1", amount_cents=4800, currency="EUR")
    address = f"/sandbox/pay/{session.pk}"
    shown = client.get(address)
    paid = client.post(address, {"do": "pay"}, follow=True)
    late = client.post(address, {"do": "pay"})
    missing = client.get("/sandbox/pay/cs_NOSUCH")
    assert [answer.status_code for answer in (shown, paid, late, missing)] == [200, 200, 409, 404]
    for answer in (shown, paid, late, missing):
        assert 'href="http://shop.test/"' in answer.content.decode()
    assert "There is no such session." in missing.content.decode()
