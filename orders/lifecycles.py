"""The processes of the shop: an order from draft to fulfilled or refunded, and a stray payment back to its owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _

from lifecycle import Fail, Lifecycle, Refuse, Retry, Timeout, Transition, effect, guard
from orders.forms import ShipForm
from orders.models import Order, StrayPayment
from orders.money import money
from orders.payments import ProviderRefused, ProviderUnavailable

S = Order.Status

THREE_TRIES = Retry(attempts=3, backoff=timedelta(seconds=2), factor=2, maximum=timedelta(seconds=10))
FIVE_TRIES = Retry(attempts=5, backoff=timedelta(seconds=2), factor=2, maximum=timedelta(seconds=30))


def reference(order: Order) -> str:
    """The order's name at the payment provider."""
    return f"order-{order.pk}"


def what_went_wrong(ctx: Any) -> dict[str, Any]:
    """Keeps why a call failed or a payment was declined where people see it."""
    return {"last_error": str(ctx.input.get("reason") or ctx.input.get("error") or "")[:500]}


@contextmanager
def provider_errors() -> Iterator[None]:
    """The provider's trouble in words people read: its no is final, everything else is tried again."""
    try:
        yield
    except ProviderRefused as refused:
        raise Fail(refused.code, refused.message) from refused
    except ProviderUnavailable as trouble:
        raise Fail("provider_unavailable", str(trouble), retry=True) from trouble


class OrderLifecycle(Lifecycle[Order]):
    class Meta:
        model = Order
        name = "orders"
        initial = S.DRAFT
        final = [S.FULFILLED, S.REFUNDED]
        services = "orders.services.services"
        states = {
            S.DRAFT: {"meta": {"tone": "neutral"}},
            S.CREATING_CHECKOUT: {"meta": {"tone": "progress"}},
            S.AWAITING_PAYMENT: {"meta": {"tone": "waiting"}},
            S.PAYMENT_FAILED: {"meta": {"tone": "danger"}},
            S.PAID: {"meta": {"tone": "success"}},
            # Not final: money that arrives after the end must find a way back.
            S.CANCELLED: {"meta": {"tone": "neutral"}},
            S.REFUNDING: {"meta": {"tone": "progress"}},
            S.REFUND_NEEDS_ATTENTION: {"meta": {"tone": "danger"}},
            S.FULFILLED: {"meta": {"tone": "success"}},
            S.REFUNDED: {"meta": {"tone": "neutral"}},
        }

    @dataclass(frozen=True)
    class Parameters:
        payment_window: timedelta = timedelta(minutes=3)

    checkout = Transition([S.DRAFT, S.PAYMENT_FAILED], S.CREATING_CHECKOUT, label=_("Pay"), meta={"primary": True})
    checkout_created = Transition(
        S.CREATING_CHECKOUT,
        S.AWAITING_PAYMENT,
        label=_("Checkout created"),
        accept=["payment_session_id", "checkout_url"],
        manual=False,
    )
    checkout_failed = Transition(S.CREATING_CHECKOUT, S.PAYMENT_FAILED, label=_("Checkout failed"), manual=False)
    payment_succeeded = Transition(
        [S.CREATING_CHECKOUT, S.AWAITING_PAYMENT, S.PAYMENT_FAILED],
        S.PAID,
        label=_("Payment succeeded"),
        accept=["payment_ref"],
        manual=False,
    )
    payment_declined = Transition(
        [S.CREATING_CHECKOUT, S.AWAITING_PAYMENT], S.PAYMENT_FAILED, label=_("Payment declined"), manual=False
    )
    paid_after_cancel = Transition(
        S.CANCELLED, S.REFUNDING, label=_("Paid after cancel"), accept=["payment_ref"], manual=False
    )
    cancel = Transition(
        [S.DRAFT, S.AWAITING_PAYMENT, S.PAYMENT_FAILED],
        S.CANCELLED,
        label=_("Cancel order"),
        description=_("The open checkout is closed at the provider."),
        meta={"destructive": True},
    )
    expire = Transition([S.AWAITING_PAYMENT, S.PAYMENT_FAILED], S.CANCELLED, label=_("Expire"), manual=False)
    ship = Transition(
        S.PAID,
        S.FULFILLED,
        label=_("Ship"),
        permission="orders.ship_order",
        form=ShipForm,
        accept=["carrier", "tracking_number"],
        meta={"primary": True},
    )
    refund_order = Transition(
        S.PAID,
        S.REFUNDING,
        label=_("Refund order"),
        description=_("The payment is given back in full."),
        permission="orders.refund_order",
        meta={"destructive": True},
    )
    refunded = Transition(S.REFUNDING, S.REFUNDED, label=_("Refunded"), accept=["refund_ref"], manual=False)
    refund_failed = Transition(S.REFUNDING, S.REFUND_NEEDS_ATTENTION, label=_("Refund failed"), manual=False)
    retry_refund = Transition(
        S.REFUND_NEEDS_ATTENTION,
        S.REFUNDING,
        label=_("Retry refund"),
        description=_("The provider is asked again, under the same key: nobody is paid back twice."),
        permission="orders.refund_order",
        meta={"primary": True},
    )

    expire_unpaid = Timeout(
        expire, when=[S.AWAITING_PAYMENT, S.PAYMENT_FAILED], after=lambda parameters: parameters.payment_window
    )

    # What transitions write ---------------------------------------------------------------------

    @checkout.set
    def begin_payment_round(self, ctx: Any) -> dict[str, Any]:
        return {
            "payment_attempt": ctx.record.payment_attempt + 1,
            "payment_session_id": "",
            "checkout_url": "",
            "last_error": "",
        }

    @checkout_failed.set
    def note_failed_checkout(self, ctx: Any) -> dict[str, Any]:
        return what_went_wrong(ctx)

    @payment_declined.set
    def note_decline(self, ctx: Any) -> dict[str, Any]:
        return what_went_wrong(ctx)

    @refund_failed.set
    def note_failed_refund(self, ctx: Any) -> dict[str, Any]:
        return what_went_wrong(ctx)

    @payment_succeeded.set
    def forget_payment_error(self, ctx: Any) -> dict[str, Any]:
        return {"last_error": ""}

    @refunded.set
    def forget_refund_error(self, ctx: Any) -> dict[str, Any]:
        return {"last_error": ""}

    @cancel.set
    def cancelled_by_customer(self, ctx: Any) -> dict[str, Any]:
        return {"cancel_reason": Order.CancelReason.CUSTOMER}

    @expire.set
    def cancelled_by_time(self, ctx: Any) -> dict[str, Any]:
        return {"cancel_reason": Order.CancelReason.TIMEOUT}

    @refund_order.set
    def cancelled_by_refund(self, ctx: Any) -> dict[str, Any]:
        return {"cancel_reason": Order.CancelReason.REFUND_REQUESTED}

    # What is asked before money counts ----------------------------------------------------------

    @guard(on=[payment_succeeded, paid_after_cancel])
    def is_what_was_asked_for(self, ctx: Any) -> Any:
        order, paid = ctx.record, ctx.input
        cents, currency = paid.get("amount_cents", order.amount_cents), paid.get("currency", order.currency)
        if (cents, currency) == (order.amount_cents, order.currency):
            return True
        return Refuse(
            "wrong_currency" if currency != order.currency else "wrong_amount",
            _("%(paid)s was paid instead of %(due)s.")
            % {"paid": money(cents, currency), "due": money(order.amount_cents, order.currency)},
        )

    @guard(on=[payment_declined])
    def is_about_this_round(self, ctx: Any) -> Any:
        # A decline of the first session that arrives while the second is open says nothing about the second.
        said = ctx.input.get("payment_attempt", ctx.record.payment_attempt)
        if said == ctx.record.payment_attempt:
            return True
        return Refuse("earlier_round", _("This is about an earlier payment round."), round=said)

    # Pending effects -------------------------------------------------------------------------------

    @effect(
        name="orders.create_checkout",
        on_enter=S.CREATING_CHECKOUT,
        on_success=checkout_created,
        on_failure=checkout_failed,
        retry=THREE_TRIES,
        timeout=timedelta(seconds=10),
    )
    def create_checkout(self, ctx: Any) -> dict[str, Any]:
        """Opens one session per order and payment round, however often it is asked."""
        order = ctx.record
        with provider_errors():
            session = self.services.payments.open_session(
                idempotency_key=f"order-checkout:{order.pk}:{order.payment_attempt}",
                reference=reference(order),
                amount_cents=order.amount_cents,
                currency=order.currency,
                metadata={"payment_attempt": order.payment_attempt},
                simulate_failures=order.fail_checkouts,
            )
        return {"payment_session_id": session.id, "checkout_url": session.url}

    @effect(name="orders.close_checkout", on=[cancel, expire], retry=FIVE_TRIES, timeout=timedelta(seconds=10))
    def close_checkout(self, ctx: Any) -> dict[str, Any]:
        """Closes the open session; one that was paid meanwhile stays paid, and its event will say so."""
        order = ctx.record
        if not order.payment_session_id:
            return {"session": None}
        with provider_errors():
            session = self.services.payments.expire_session(
                order.payment_session_id, idempotency_key=f"order-close:{order.pk}:{order.payment_session_id}"
            )
        return {"session": session.id, "status": session.status}

    @effect(
        name="orders.refund",
        on_enter=S.REFUNDING,
        on_success=refunded,
        on_failure=refund_failed,
        retry=THREE_TRIES,
        timeout=timedelta(seconds=10),
    )
    def refund(self, ctx: Any) -> dict[str, Any]:
        """Gives the order's payment back, once."""
        order = ctx.record
        return refund_payment(
            self.services,
            key=f"order-refund:{order.pk}:{order.payment_ref}",
            payment_ref=order.payment_ref,
            simulate_failures=order.fail_refunds,
        )


P = StrayPayment.Status


class StrayPaymentLifecycle(Lifecycle[StrayPayment]):
    class Meta:
        model = StrayPayment
        name = "stray_payments"
        initial = P.REFUNDING
        final = [P.REFUNDED]
        services = "orders.services.services"
        states = {
            P.REFUNDING: {"meta": {"tone": "progress"}},
            P.REFUNDED: {"meta": {"tone": "neutral"}},
            P.NEEDS_ATTENTION: {"meta": {"tone": "danger"}},
        }

    refunded = Transition(P.REFUNDING, P.REFUNDED, label=_("Refunded"), accept=["refund_ref"], manual=False)
    refund_failed = Transition(P.REFUNDING, P.NEEDS_ATTENTION, label=_("Refund failed"), manual=False)
    retry_refund = Transition(
        P.NEEDS_ATTENTION,
        P.REFUNDING,
        label=_("Retry refund"),
        permission="orders.refund_order",
        meta={"primary": True},
    )

    @refunded.set
    def forget_error(self, ctx: Any) -> dict[str, Any]:
        return {"last_error": ""}

    @refund_failed.set
    def note_error(self, ctx: Any) -> dict[str, Any]:
        return what_went_wrong(ctx)

    @effect(
        name="orders.refund_stray",
        on_enter=P.REFUNDING,
        on_success=refunded,
        on_failure=refund_failed,
        retry=THREE_TRIES,
        timeout=timedelta(seconds=10),
    )
    def refund(self, ctx: Any) -> dict[str, Any]:
        """Gives the stray payment back, once."""
        stray = ctx.record
        return refund_payment(
            self.services, key=f"stray-refund:{stray.order_id}:{stray.payment_ref}", payment_ref=stray.payment_ref
        )


def refund_payment(services: Any, *, key: str, payment_ref: str, simulate_failures: int = 0) -> dict[str, Any]:
    """Asks the provider for one refund."""
    with provider_errors():
        refund_ref = services.payments.refund(
            idempotency_key=key, payment_ref=payment_ref, simulate_failures=simulate_failures
        )
    return {"refund_ref": refund_ref}
