"""Order, and the stray payments that no order asked for."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from lifecycle.models import LifecycleModel, StateField

# What the column holds on every database, and so what an event about a payment may say.
MOST_CENTS = 2**31 - 1
CURRENCY_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£"}


def money(cents: int, currency: str) -> str:
    """``4800, "EUR"`` → ``€48.00``; a currency without a known sign is written after the number."""
    number = f"{cents // 100:,}.{cents % 100:02d}"
    sign = CURRENCY_SIGNS.get(currency)
    return f"{sign}{number}" if sign else f"{number} {currency}"


def not_blank(value: str) -> None:
    """Refuses text that shows nothing."""
    if not value.strip():
        raise ValidationError(_("Write something that can be read."), code="blank")


class Order(LifecycleModel):
    """Something a customer wants to pay for. Only `orders.lifecycles.OrderLifecycle` moves its status."""

    class Status(models.TextChoices):
        DRAFT = "draft", _("Draft")
        CREATING_CHECKOUT = "creating_checkout", _("Creating checkout")
        AWAITING_PAYMENT = "awaiting_payment", _("Awaiting payment")
        PAYMENT_FAILED = "payment_failed", _("Payment failed")
        PAID = "paid", _("Paid")
        # The same word has another meaning elsewhere, and catalogues are shared.
        CANCELLED = "cancelled", pgettext_lazy("state of an order", "Cancelled")
        REFUNDING = "refunding", _("Refunding")
        REFUND_NEEDS_ATTENTION = "refund_needs_attention", _("Refund needs attention")
        FULFILLED = "fulfilled", _("Fulfilled")
        REFUNDED = "refunded", _("Refunded")

    class CancelReason(models.TextChoices):
        CUSTOMER = "customer", _("the customer cancelled")
        TIMEOUT = "timeout", _("it was not paid in time")
        REFUND_REQUESTED = "refund_requested", _("a refund was requested")

    status = StateField(Status)
    customer = models.CharField(_("customer"), max_length=100, validators=[not_blank])
    title = models.CharField(_("item"), max_length=200, validators=[not_blank])
    amount_cents = models.PositiveIntegerField(
        _("amount in cents"), validators=[MinValueValidator(1), MaxValueValidator(MOST_CENTS)]
    )
    currency = models.CharField(
        _("currency"),
        max_length=3,
        default="EUR",
        validators=[RegexValidator(r"^[A-Z]{3}\Z", _("Three capital letters, like EUR."))],
    )
    payment_attempt = models.PositiveIntegerField(_("payment attempt"), default=0)
    payment_session_id = models.CharField(_("payment session"), max_length=64, blank=True, default="")
    checkout_url = models.URLField(_("checkout page"), max_length=500, blank=True, default="")
    payment_ref = models.CharField(_("payment"), max_length=64, blank=True, default="")
    refund_ref = models.CharField(_("refund"), max_length=64, blank=True, default="")
    cancel_reason = models.CharField(
        _("cancel reason"), max_length=20, choices=CancelReason.choices, blank=True, default=""
    )
    last_error = models.CharField(_("last error"), max_length=500, blank=True, default="")
    carrier = models.CharField(_("carrier"), max_length=50, blank=True, default="")
    tracking_number = models.CharField(_("tracking number"), max_length=50, blank=True, default="")
    # For the demo: how often the sandbox provider fails before it does what it is asked.
    fail_checkouts = models.PositiveSmallIntegerField(_("checkouts that fail first"), default=0)
    fail_refunds = models.PositiveSmallIntegerField(_("refunds that fail first"), default=0)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        ordering = ["-id"]
        permissions = [
            ("ship_order", _("Can ship orders")),
            ("refund_order", _("Can refund orders")),
        ]
        indexes = [models.Index(fields=["status", "status_changed_at"], name="orders_order_due")]
        constraints = [
            models.CheckConstraint(condition=models.Q(amount_cents__gt=0), name="orders_order_amount_above_zero"),
        ]

    def __str__(self) -> str:
        return gettext("Order %(number)s") % {"number": self.pk}

    def get_absolute_url(self) -> str:
        return reverse("orders:detail", kwargs={"pk": self.pk})

    @property
    def reference(self) -> str:
        """The order's name at the payment provider; its events name the order so."""
        return f"order-{self.pk}"


class StrayPayment(LifecycleModel):
    """Money an order did not ask for: a wrong amount or currency, or a second payment. It is given back in full.

    A record of its own, because it happens whatever state the order is in, final ones included, and because giving it
    back is an effect that must survive like any other.
    """

    class Status(models.TextChoices):
        REFUNDING = "refunding", _("Refunding")
        REFUNDED = "refunded", _("Refunded")
        NEEDS_ATTENTION = "needs_attention", _("Needs attention")

    status = StateField(Status)
    order = models.ForeignKey(Order, verbose_name=_("order"), on_delete=models.PROTECT, related_name="stray_payments")
    payment_ref = models.CharField(_("payment"), max_length=64, unique=True)
    amount_cents = models.PositiveIntegerField(_("amount in cents"), validators=[MaxValueValidator(MOST_CENTS)])
    currency = models.CharField(_("currency"), max_length=3)
    reason = models.CharField(_("why it is given back"), max_length=500)
    refund_ref = models.CharField(_("refund"), max_length=64, blank=True, default="")
    last_error = models.CharField(_("last error"), max_length=500, blank=True, default="")

    class Meta:
        verbose_name = _("stray payment")
        verbose_name_plural = _("stray payments")
        ordering = ["id"]
        indexes = [models.Index(fields=["status", "status_changed_at"], name="orders_stray_due")]

    def __str__(self) -> str:
        return gettext("Stray payment %(reference)s") % {"reference": self.payment_ref}
