"""The provider's verbs: open, pay, decline and expire a session, refund a payment, hold events back."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from orders.sandbox import outbox
from orders.sandbox.errors import ProviderError
from orders.sandbox.models import FailureCount, HeldReference, Payment, Refund, Session

DECLINE_REASON = "Insufficient funds"


def open_session(
    *, key: str, reference: str, amount_cents: int, currency: str, metadata: dict[str, Any], simulate_failures: int = 0
) -> tuple[Session, bool]:
    """Opens one session per idempotency key; the second return value says whether it is new."""
    wanted = {"reference": reference, "amount_cents": amount_cents, "currency": currency, "metadata": metadata}
    session = Session.objects.filter(idempotency_key=key).first()
    if session is not None:
        return _asked_again(session, wanted), False
    fail_first(f"checkout:{reference}", simulate_failures)
    try:
        with transaction.atomic():
            return Session.objects.create(idempotency_key=key, **wanted), True
    except IntegrityError:  # the same key came twice at the same time: the first one's session is the answer
        return _asked_again(Session.objects.get(idempotency_key=key), wanted), False


def _asked_again(session: Session, wanted: dict[str, Any]) -> Session:
    if any(getattr(session, name) != value for name, value in wanted.items()):
        raise ProviderError(422, "IDEMPOTENCY_KEY_REUSED", "This key was used for a different session.")
    Session.objects.filter(pk=session.pk).update(times_asked=F("times_asked") + 1)
    return session


@transaction.atomic
def pay(
    session_id: str, *, amount_cents: int | None = None, currency: str | None = None, again: bool = False
) -> Payment:
    """The customer pays: the session closes and the merchant is told.

    Args:
        amount_cents, currency: what really moves, when it is not what was asked for.
        again: pay a session that is paid already, as a customer with two open tabs does.
    """
    session = locked(session_id)
    if session.status != Session.Status.OPEN and not (again and session.status == Session.Status.PAID):
        raise closed(session)
    payment = Payment.objects.create(
        session=session,
        amount_cents=session.amount_cents if amount_cents is None else amount_cents,
        currency=currency or session.currency,
    )
    _close(session, Session.Status.PAID)
    outbox.record(
        session,
        "payment.succeeded",
        payment_ref=payment.id,
        amount_cents=payment.amount_cents,
        currency=payment.currency,
    )
    return payment


@transaction.atomic
def decline(session_id: str, *, reason: str = DECLINE_REASON) -> Session:
    """The customer's bank says no: the session closes and the merchant is told why."""
    session = locked(session_id)
    if session.status != Session.Status.OPEN:
        raise closed(session)
    _close(session, Session.Status.DECLINED)
    outbox.record(session, "payment.declined", reason=reason)
    return session


@transaction.atomic
def expire(session_id: str) -> Session:
    """Closes an open session; a paid, declined or expired one is reported as it is."""
    session = locked(session_id)
    if session.status == Session.Status.OPEN:
        _close(session, Session.Status.EXPIRED)
    return session


def refund(*, key: str, payment_id: str, simulate_failures: int = 0) -> tuple[Refund, bool]:
    """Gives one payment back in full, once per idempotency key; the second return value says whether it is new."""
    existing = Refund.objects.filter(idempotency_key=key).first()
    if existing is not None:
        if existing.payment_id != payment_id:
            raise ProviderError(422, "IDEMPOTENCY_KEY_REUSED", "This key was used for a different refund.")
        return existing, False
    payment = Payment.objects.filter(pk=payment_id).first()
    if payment is None:
        raise ProviderError(404, "PAYMENT_NOT_FOUND", f"There is no payment {payment_id}.")
    fail_first(f"refund:{payment_id}", simulate_failures)
    try:
        with transaction.atomic():
            return Refund.objects.create(idempotency_key=key, payment=payment, amount_cents=payment.amount_cents), True
    except IntegrityError:
        existing = Refund.objects.get(payment=payment)
        if existing.idempotency_key != key:
            raise ProviderError(
                409, "ALREADY_REFUNDED", f"{payment_id} was refunded before, as {existing.id}."
            ) from None
        return existing, False


def hold(reference: str, on: bool) -> None:
    """Keeps events about a reference back, or stops keeping them; those kept so far stay until delivered by hand."""
    if on:
        HeldReference.objects.get_or_create(pk=reference)
    else:
        HeldReference.objects.filter(pk=reference).delete()


def fail_first(key: str, times: int) -> None:
    """Answers the first ``times`` calls with a simulated outage; the count stays, so later ones get through."""
    if times <= 0:
        return
    with transaction.atomic():
        FailureCount.objects.get_or_create(pk=key)
        failing = FailureCount.objects.filter(pk=key, count__lt=times).update(count=F("count") + 1)
    if failing:
        raise ProviderError(503, "UNAVAILABLE", "Provider unavailable (simulated).")


def locked(session_id: str) -> Session:
    """The session, locked until the transaction ends."""
    session = Session.objects.select_for_update().filter(pk=session_id).first()
    if session is None:
        raise ProviderError(404, "SESSION_NOT_FOUND", f"There is no session {session_id}.")
    return session


def closed(session: Session) -> ProviderError:
    """The refusal of a customer who comes too late."""
    return ProviderError(409, "SESSION_CLOSED", f"This session is {session.status}; it cannot be paid or declined.")


def _close(session: Session, status: str) -> None:
    session.status = status
    session.save(update_fields=["status"])
