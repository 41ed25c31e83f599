"""Payment event: what the provider tells us happened, and what becomes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from lifecycle import Actor
from lifecycle.exceptions import GuardRefused, InvalidInput, RequestReused, WrongState
from lifecycle.runtime import create
from orders.lifecycles import OrderLifecycle
from orders.models import MOST_CENTS, Order, StrayPayment
from orders.money import money

PROVIDER = Actor("webhook:sandbox", label="Sandbox provider")

# Tried in this order; the next one only when the order's state is not one the transition starts from.
CANDIDATES = {
    "payment.succeeded": (OrderLifecycle.payment_succeeded, OrderLifecycle.paid_after_cancel),
    "payment.declined": (OrderLifecycle.payment_declined,),
}

LONGEST_ID = 150


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
        if self.type == "payment.succeeded":
            facts |= {"payment_ref": self.payment_ref, "amount_cents": self.amount_cents, "currency": self.currency}
        else:
            facts |= {"reason": self.reason}
        return facts


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of an event: ``applied``, ``replayed`` or ``ignored``, and why."""

    outcome: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"outcome": self.outcome, **self.facts}


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
    if type_ not in CANDIDATES:
        return PaymentEvent(id=event_id, type=type_)
    paid = type_ == "payment.succeeded"
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


def apply(event: PaymentEvent) -> Outcome:
    """Fires the first transition that starts where the order is; money that fits nowhere is recorded and given back.

    The order is locked over the whole decision, so that "no transition starts here" cannot change under it.

    Raises:
        MalformedEvent: what it says about money fits neither the order nor a stray payment; nothing is kept, and the
            sender hears of it until somebody looks.
        Conflict, DatabaseError: trouble that is over when the sender delivers again.
    """
    if event.type not in CANDIDATES:
        return ignored("unknown_event", f"Events of type {event.type!r} are not for us.")
    try:
        with transaction.atomic():
            order = _locked(event.reference)
            if order is None:
                return ignored("record_not_found", f"There is no order {event.reference!r}.")
            if event.payment_ref and StrayPayment.objects.filter(payment_ref=event.payment_ref).exists():
                return Outcome(outcome="replayed")
            return _decide(order, event)
    except InvalidInput as error:
        raise MalformedEvent(str(error)) from error


def _locked(reference: str) -> Order | None:
    match = re.fullmatch(r"order-([0-9]{1,18})", reference, re.ASCII)
    return Order.objects.select_for_update().filter(pk=int(match[1])).first() if match else None


def _decide(order: Order, event: PaymentEvent) -> Outcome:
    refusal: WrongState | None = None
    for candidate in CANDIDATES[event.type]:
        try:
            fired = order.lifecycle.fire(candidate, actor=PROVIDER, input=event.input, request_id=event.request_id)
        except WrongState as error:
            refusal = refusal or error
        except RequestReused:  # it was applied by another candidate
            return Outcome(outcome="replayed")
        except GuardRefused as error:
            if event.payment_ref:
                return give_back(order, event, str(error.refusals[0].message), code=error.code)
            return ignored(error.code, str(error.refusals[0].message))
        except InvalidInput as error:
            if event.payment_ref:  # money is never ignored
                raise
            return ignored(error.code, str(error))
        else:
            if fired.replayed:
                return Outcome(outcome="replayed")
            return Outcome(
                outcome="applied", facts={"transition": candidate.name, "version": fired.record.lifecycle_version}
            )
    if event.payment_ref and event.payment_ref == order.payment_ref:
        return ignored("already_recorded", f"Payment {event.payment_ref} is the one this order was paid with.")
    if event.payment_ref:
        return give_back(order, event, _why_not_awaited(order, event), code="not_awaited")
    return ignored("invalid_state", str(refusal))


def _why_not_awaited(order: Order, event: PaymentEvent) -> str:
    paid = money(event.amount_cents, event.currency)
    if order.payment_ref:
        return f"A second payment: {paid} came after the order was paid by {order.payment_ref}."
    return f"{paid} was paid while the order was in {order.get_status_display()}."


def give_back(order: Order, event: PaymentEvent, reason: str, *, code: str) -> Outcome:
    """Records money the order did not ask for; its refund is enqueued by the record's first state.

    An order that was waiting for this payment is told that it failed, and why: its session is spent, so the customer
    has to pay again.
    """
    create(
        StrayPayment(
            order=order,
            payment_ref=event.payment_ref,
            amount_cents=event.amount_cents,
            currency=event.currency,
            reason=reason,
        ),
        actor=PROVIDER,
        request_id=event.request_id,
    )
    facts: dict[str, Any] = {"stray_payment": event.payment_ref, "code": code, "reason": f"{reason} It is given back."}
    try:
        fired = order.lifecycle.fire(
            OrderLifecycle.payment_declined,
            actor=PROVIDER,
            input={**event.input, "reason": f"{reason} It is given back in full."},
            request_id=event.request_id,
        )
    except (WrongState, GuardRefused):  # it was not waiting for this payment
        return Outcome(outcome="applied", facts=facts)
    facts |= {"transition": OrderLifecycle.payment_declined.name, "version": fired.record.lifecycle_version}
    return Outcome(outcome="applied", facts=facts)


def ignored(code: str, reason: str) -> Outcome:
    """Nothing was done, and this is why; the sender need not come again."""
    return Outcome(outcome="ignored", facts={"code": code, "reason": reason})
