"""Event: what the provider says happened, as read from a signed body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orders.models import MOST_CENTS

SUCCEEDED, DECLINED = "payment.succeeded", "payment.declined"
LONGEST_ID = 150  # characters; with its prefix it becomes a request id, and those end at 200


class MalformedEvent(Exception):
    """The body is signed but is no event."""


@dataclass(frozen=True, kw_only=True)
class PaymentEvent:
    """One event as read from a signed body."""

    id: str
    type: str
    reference: str = ""
    session_id: str = ""
    payment_attempt: int | None = None
    payment_ref: str = ""
    amount_cents: int = 0
    currency: str = ""
    reason: str = ""

    @property
    def request_id(self) -> str:
        """What makes a second delivery a replay."""
        return f"sandbox:{self.id}"

    @property
    def input(self) -> dict[str, Any]:
        """What the transition is given, and what the history keeps."""
        facts: dict[str, Any] = {"payment_session_id": self.session_id}
        if self.payment_attempt is not None:
            facts["payment_attempt"] = self.payment_attempt
        if self.type == SUCCEEDED:
            facts |= {"payment_ref": self.payment_ref, "amount_cents": self.amount_cents, "currency": self.currency}
        else:
            facts |= {"reason": self.reason}
        return facts


def read(event_id: str, body: bytes) -> PaymentEvent:
    """Reads a body whose signature holds.

    Raises:
        MalformedEvent: it is not JSON, or something is missing or of the wrong type.
    """
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedEvent("The body is not JSON.") from error
    if not isinstance(event, dict) or not isinstance(event.get("data"), dict):
        raise MalformedEvent("The body must be an object with type, timestamp and data.")
    _text({"webhook-id": event_id}, "webhook-id", LONGEST_ID)
    type_, data = _text(event, "type"), event["data"]
    _text(event, "timestamp")
    if type_ not in (SUCCEEDED, DECLINED):
        return PaymentEvent(id=event_id, type=type_)
    paid = type_ == SUCCEEDED
    return PaymentEvent(
        id=event_id,
        type=type_,
        reference=_text(data, "reference", 100),
        session_id=_text(data, "session_id"),
        payment_attempt=_attempt(data),
        payment_ref=_text(data, "payment_ref") if paid else "",
        amount_cents=_cents(data) if paid else 0,
        currency=_text(data, "currency", 3) if paid else "",
        reason="" if paid else _text(data, "reason", 500),
    )


def _text(data: Mapping[str, Any], name: str, longest: int = 64) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= longest or not value.strip():
        raise MalformedEvent(f"{name} must be text of 1 to {longest} characters.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise MalformedEvent(f"{name} holds half a surrogate pair, which is no character.") from None
    if "\x00" in value:
        raise MalformedEvent(f"{name} holds a NUL character.")
    return value


def _cents(data: Mapping[str, Any]) -> int:
    value = data.get("amount_cents")
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MOST_CENTS:
        raise MalformedEvent(f"amount_cents must be a whole number from 1 to {MOST_CENTS}.")
    return value


def _attempt(data: Mapping[str, Any]) -> int | None:
    metadata = data.get("metadata")
    value = metadata.get("payment_attempt") if isinstance(metadata, dict) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    if not 0 <= value < 2**31:
        raise MalformedEvent("metadata.payment_attempt must be a whole number from 0.")
    return value
