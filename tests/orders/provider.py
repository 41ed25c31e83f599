"""A payment provider that is an object, and webhooks signed by hand."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from orders.payments import Payments, Session
from orders.sandbox import signatures

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@dataclass
class FakePayments:
    """Opens sessions and refunds payments, once per key; raises what it is told to."""

    sessions: dict[str, Session] = field(default_factory=dict)
    refunds: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    trouble: list[Exception] = field(default_factory=list)

    def open_session(self, *, idempotency_key: str, **request: Any) -> Session:
        self._called("open_session", idempotency_key)
        number = len(self.sessions) + 1
        new = Session(id=f"cs_{number}", url=f"http://127.0.0.1/pay/cs_{number}", status="open")
        return self.sessions.setdefault(idempotency_key, new)

    def expire_session(self, session_id: str, *, idempotency_key: str) -> Session:
        self._called("expire_session", idempotency_key)
        return Session(id=session_id, url="http://127.0.0.1/pay", status="expired")

    def refund(self, *, idempotency_key: str, payment_ref: str, simulate_failures: int = 0) -> str:
        self._called("refund", idempotency_key)
        return self.refunds.setdefault(idempotency_key, f"re_{payment_ref}")

    def _called(self, what: str, key: str) -> None:
        self.calls.append((what, key))
        if self.trouble:
            raise self.trouble.pop(0)


@dataclass
class FakeServices:
    payments: Payments


def event(order: Any, type_: str, **data: Any) -> dict[str, Any]:
    """An event about an order; right in every part that is not given."""
    facts: dict[str, Any] = {"reference": f"order-{order.pk}", "session_id": "cs_1", "metadata": {}}
    if type_ == "payment.succeeded":
        facts |= {"payment_ref": "pay_1", "amount_cents": order.amount_cents, "currency": order.currency}
    if type_ == "payment.declined":
        facts |= {"reason": "Insufficient funds"}
    return {"type": type_, "timestamp": "2026-03-12T14:02:31Z", "data": {**facts, **data}}


def send(body: Any, event_id: str = "evt_1", *, secret: str = SECRET, timestamp: int | None = None) -> Any:
    """Delivers a webhook as the provider does."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    moment = int(time.time()) if timestamp is None else timestamp
    headers = signatures.headers(event_id, moment, raw, [secret])
    return post(raw, headers)


def post(raw: bytes, headers: dict[str, str]) -> Any:
    return Client(enforce_csrf_checks=True).post(
        "/webhooks/sandbox/", data=raw, content_type="application/json", headers=headers
    )
