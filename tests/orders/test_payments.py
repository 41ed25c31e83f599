"""The shop's client against the provider, over real HTTP."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from orders.payments import HttpPayments, ProviderRefused, ProviderUnavailable
from orders.sandbox.models import Session, Switches

TOKEN = "shop-token"


@pytest.fixture
def client(live_server: Any, settings: Any) -> HttpPayments:
    settings.SANDBOX = {"TOKEN": TOKEN, "WEBHOOK_URL": "", "WEBHOOK_SECRETS": []}
    return HttpPayments(f"{live_server.url}/sandbox/", TOKEN, timeout=5)


def open_session(payments: HttpPayments, key: str = "order-checkout:1:1", failures: int = 0) -> Any:
    return payments.open_session(
        idempotency_key=key,
        reference="order-1",
        amount_cents=4800,
        currency="EUR",
        metadata={},
        simulate_failures=failures,
    )


@pytest.mark.django_db(transaction=True)
def test_one_session_per_key_is_opened_expired_and_its_payment_refunded(client: HttpPayments) -> None:
    session = open_session(client)
    assert open_session(client) == session
    assert session.url.endswith(f"/sandbox/pay/{session.id}")
    paid = client.call("POST", f"sessions/{session.id}/pay", body={})
    assert client.expire_session(session.id, idempotency_key="close").status == "paid"
    refund = client.refund(idempotency_key="refund", payment_ref=paid["payment_ref"])
    assert client.refund(idempotency_key="refund", payment_ref=paid["payment_ref"]) == refund


@pytest.mark.django_db(transaction=True)
def test_trouble_is_worth_another_try_and_a_no_is_not(client: HttpPayments, live_server: Any) -> None:
    with pytest.raises(ProviderUnavailable, match="503 Provider unavailable"):
        open_session(client, failures=1)
    with pytest.raises(ProviderRefused) as refused:
        client.refund(idempotency_key="refund", payment_ref="pay_NONE")
    assert refused.value.code == "PAYMENT_NOT_FOUND"
    with pytest.raises(ProviderRefused) as refused:
        open_session(HttpPayments(f"{live_server.url}/sandbox/", "wrong"))
    assert refused.value.code == "UNAUTHORIZED"


@pytest.mark.django_db(transaction=True)
def test_a_slow_provider_is_given_up_though_it_did_what_was_asked(live_server: Any, client: HttpPayments) -> None:
    Switches(latency_seconds=1).save()
    with pytest.raises(ProviderUnavailable, match="in time"):
        open_session(HttpPayments(f"{live_server.url}/sandbox/", TOKEN, timeout=0.2))
    assert Session.objects.get().idempotency_key == "order-checkout:1:1"


def test_nobody_there_is_trouble() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        payments = HttpPayments(f"http://127.0.0.1:{unused.getsockname()[1]}/", TOKEN)
        with pytest.raises(ProviderUnavailable, match="could not be reached"):
            open_session(payments)


@pytest.mark.parametrize("answer", ["hello", "[]", '{"id": "cs_1"}'])
def test_an_answer_that_is_none_of_the_providers_is_trouble(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    import httpx

    payments = HttpPayments("http://provider/", TOKEN)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, text=answer))
    monkeypatch.setattr(payments, "_client", httpx.Client(base_url="http://provider/", transport=transport))
    with pytest.raises(ProviderUnavailable):
        open_session(payments)
