"""Lifecycles: an order from draft to fulfilled or refunded, and a stray payment on its way back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from lifecycle import (
    EffectContext,
    Lifecycle,
    Refuse,
    Retry,
    Timeout,
    Transition,
    TransitionContext,
    effect,
    guard,
)
from orders.forms import ShipForm
from orders.models import Order, StrayPayment, money
from orders.payments import Payments
from orders.services import provider_errors

S = Order.Status

THREE_TRIES = Retry(attempts=3, backoff=timedelta(seconds=2), factor=2, maximum=timedelta(seconds=10))
FIVE_TRIES = Retry(attempts=5, backoff=timedelta(seconds=2), factor=2, maximum=timedelta(seconds=30))


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
        description=_("A checkout that is open at the provider is closed."),
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
    def begin_payment_round(self, ctx: TransitionContext[Order]) -> dict[str, int | str]:
        return {
            "payment_attempt": ctx.record.payment_attempt + 1,
            "payment_session_id": "",
            "checkout_url": "",
            "last_error": "",
        }

    @checkout_failed.set
    @payment_declined.set
    @refund_failed.set
    def keep_error(self, ctx: TransitionContext[Order]) -> dict[str, str]:
        return {"last_error": error_text(ctx)}

    @payment_succeeded.set
    @refunded.set
    def clear_error(self, ctx: TransitionContext[Order]) -> dict[str, str]:
        return {"last_error": ""}

    @cancel.set
    def cancelled_by_customer(self, ctx: TransitionContext[Order]) -> dict[str, str]:
        return {"cancel_reason": Order.CancelReason.CUSTOMER}

    @expire.set
    def cancelled_by_time(self, ctx: TransitionContext[Order]) -> dict[str, str]:
        return {"cancel_reason": Order.CancelReason.TIMEOUT}

    @refund_order.set
    def cancelled_by_refund(self, ctx: TransitionContext[Order]) -> dict[str, str]:
        return {"cancel_reason": Order.CancelReason.REFUND_REQUESTED}

    # What is asked before money counts ----------------------------------------------------------

    @guard(on=[payment_succeeded, paid_after_cancel])
    def is_what_was_asked_for(self, ctx: TransitionContext[Order]) -> bool | Refuse:
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
    def is_about_this_round(self, ctx: TransitionContext[Order]) -> bool | Refuse:
        # A decline of the first session that arrives while the second is open says nothing about the second.
        said = ctx.input.get("payment_attempt", ctx.record.payment_attempt)
        if said == ctx.record.payment_attempt:
            return True
        return Refuse("earlier_round", _("This is about an earlier payment round."), round=said)

    # Effects: what the payment provider is asked to do, after the commit ------------------------
    #
    # Each idempotency key names what is wanted once. It is the same in every attempt, and in a new run for the same
    # thing ("Retry refund"), so the provider opens one session a round and pays back once, however often it is asked.

    @effect(
        name="orders.create_checkout",
        on_enter=S.CREATING_CHECKOUT,
        on_success=checkout_created,
        on_failure=checkout_failed,
        retry=THREE_TRIES,
        timeout=timedelta(seconds=10),
    )
    def create_checkout(self, ctx: EffectContext[Order]) -> dict[str, str]:
        """Opens the checkout session of this payment round."""
        payments: Payments = self.services.payments
        order = ctx.record
        with provider_errors():
            session = payments.open_session(
                idempotency_key=f"order-checkout:{order.pk}:{order.payment_attempt}",
                reference=order.reference,
                amount_cents=order.amount_cents,
                currency=order.currency,
                metadata={"payment_attempt": order.payment_attempt},
                simulate_failures=order.fail_checkouts,
            )
        return {"payment_session_id": session.id, "checkout_url": session.url}

    @effect(name="orders.close_checkout", on=[cancel, expire], retry=FIVE_TRIES, timeout=timedelta(seconds=10))
    def close_checkout(self, ctx: EffectContext[Order]) -> dict[str, str | None]:
        """Closes the open session; one that was paid meanwhile stays paid, and its event will say so."""
        payments: Payments = self.services.payments
        order = ctx.record
        if not order.payment_session_id:
            return {"session": None}
        with provider_errors():
            session = payments.expire_session(
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
    def refund(self, ctx: EffectContext[Order]) -> dict[str, str]:
        """Gives the order's payment back."""
        payments: Payments = self.services.payments
        order = ctx.record
        with provider_errors():
            refund_ref = payments.refund(
                idempotency_key=f"order-refund:{order.pk}:{order.payment_ref}",
                payment_ref=order.payment_ref,
                simulate_failures=order.fail_refunds,
            )
        return {"refund_ref": refund_ref}


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

    @refund_failed.set
    def keep_error(self, ctx: TransitionContext[StrayPayment]) -> dict[str, str]:
        return {"last_error": error_text(ctx)}

    @refunded.set
    def clear_error(self, ctx: TransitionContext[StrayPayment]) -> dict[str, str]:
        return {"last_error": ""}

    @effect(
        name="orders.refund_stray",
        on_enter=P.REFUNDING,
        on_success=refunded,
        on_failure=refund_failed,
        retry=THREE_TRIES,
        timeout=timedelta(seconds=10),
    )
    def refund(self, ctx: EffectContext[StrayPayment]) -> dict[str, str]:
        """Gives the stray payment back."""
        payments: Payments = self.services.payments
        stray = ctx.record
        with provider_errors():
            refund_ref = payments.refund(
                idempotency_key=f"stray-refund:{stray.order_id}:{stray.payment_ref}", payment_ref=stray.payment_ref
            )
        return {"refund_ref": refund_ref}


def error_text(ctx: TransitionContext) -> str:
    """Why a call failed (`error`, from an effect) or a payment was declined (`reason`, from the provider)."""
    return str(ctx.input.get("reason") or ctx.input.get("error") or "")[:500]
