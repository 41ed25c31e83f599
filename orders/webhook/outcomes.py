"""Outcome: what becomes of an event. A transition, a payment that is given back, or nothing and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from lifecycle import Actor, Fired, Transition
from lifecycle.exceptions import GuardRefused, InvalidInput, RequestReused, WrongState
from lifecycle.runtime import create
from orders.lifecycles import OrderLifecycle
from orders.models import Order, StrayPayment, money
from orders.webhook.events import DECLINED, SUCCEEDED, MalformedEvent, PaymentEvent

PROVIDER = Actor("webhook:sandbox", label="Sandbox provider")

# Tried in this order; the next one only when the order's state is not one the transition starts from.
CANDIDATES = {
    SUCCEEDED: (OrderLifecycle.payment_succeeded, OrderLifecycle.paid_after_cancel),
    DECLINED: (OrderLifecycle.payment_declined,),
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of an event: ``applied``, ``replayed`` or ``ignored``, and why."""

    outcome: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"outcome": self.outcome, **self.facts}


REPLAYED = Outcome(outcome="replayed")


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
                return REPLAYED
            return _decide(order, event)
    except InvalidInput as error:
        raise MalformedEvent(str(error)) from error


def _locked(reference: str) -> Order | None:
    match = re.fullmatch(r"order-([0-9]{1,18})", reference, re.ASCII)
    return Order.objects.select_for_update().filter(pk=int(match[1])).first() if match else None


def _decide(order: Order, event: PaymentEvent) -> Outcome:
    refusals = []
    for candidate in CANDIDATES[event.type]:
        try:
            fired = order.lifecycle.fire(candidate, actor=PROVIDER, input=event.input, request_id=event.request_id)
        except WrongState as error:
            refusals.append(error)
        except RequestReused:  # it was applied by another candidate
            return REPLAYED
        except GuardRefused as error:
            why = str(error.refusals[0].message)
            return give_back(order, event, why, code=error.code) if event.payment_ref else ignored(error.code, why)
        except InvalidInput as error:
            if event.payment_ref:  # money is never ignored
                raise
            return ignored(error.code, str(error))
        else:
            return REPLAYED if fired.replayed else Outcome(outcome="applied", facts=_moved(candidate, fired))
    return _not_awaited(order, event, refusals[0])


def _not_awaited(order: Order, event: PaymentEvent, refusal: WrongState) -> Outcome:
    """No transition starts where the order is: the event is late, or its money is not wanted."""
    if not event.payment_ref:
        return ignored("invalid_state", str(refusal))
    if event.payment_ref == order.payment_ref:
        return ignored("already_recorded", f"Payment {event.payment_ref} is the one this order was paid with.")
    paid = money(event.amount_cents, event.currency)
    if order.payment_ref:
        why = f"A second payment: {paid} came after the order was paid by {order.payment_ref}."
    else:
        why = f"{paid} was paid while the order was in {order.get_status_display()}."
    return give_back(order, event, why, code="not_awaited")


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
    return Outcome(outcome="applied", facts=facts | _moved(OrderLifecycle.payment_declined, fired))


def _moved(transition: Transition, fired: Fired[Order]) -> dict[str, Any]:
    return {"transition": transition.name, "version": fired.record.lifecycle_version}


def ignored(code: str, reason: str) -> Outcome:
    """Nothing was done, and this is why; the sender need not come again."""
    return Outcome(outcome="ignored", facts={"code": code, "reason": reason})
