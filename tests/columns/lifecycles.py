"""The processes of the records with owned columns."""

from __future__ import annotations

from lifecycle import Lifecycle, Transition
from tests.columns.models import Invoice, OldTable, Order, Page, PaymentStatus, Status, Token


class OrderLifecycle(Lifecycle[Order]):
    class Meta:
        model = Order
        name = "columns_orders"
        initial = Status.NEW
        final = [Status.SHIPPED]

    pay = Transition(Status.NEW, Status.PAID)
    ship = Transition(Status.PAID, Status.SHIPPED)


class PageLifecycle(Lifecycle[Page]):
    class Meta:
        model = Page
        name = "columns_pages"
        initial = [Status.NEW, Status.PAID]
        final = [Status.SHIPPED]

    pay = Transition(Status.NEW, Status.PAID)
    ship = Transition(Status.PAID, Status.SHIPPED)


class TokenLifecycle(Lifecycle[Token]):
    class Meta:
        model = Token
        name = "columns_tokens"
        initial = Status.NEW
        final = [Status.SHIPPED]

    pay = Transition(Status.NEW, Status.PAID)
    ship = Transition(Status.PAID, Status.SHIPPED)


class InvoiceLifecycle(Lifecycle[Invoice]):
    class Meta:
        model = Invoice
        name = "columns_invoices"
        initial = Status.NEW
        final = [Status.SHIPPED]

    pay = Transition(Status.NEW, Status.PAID)
    ship = Transition(Status.PAID, Status.SHIPPED)


class PaymentLifecycle(Lifecycle[Invoice]):
    class Meta:
        model = Invoice
        name = "columns_payments"
        accessor = "payments"
        state_field = "payment"
        changed_at_field = "payment_changed_at"
        version_field = "payment_version"
        initial = PaymentStatus.OPEN
        final = [PaymentStatus.SETTLED]

    settle = Transition(PaymentStatus.OPEN, PaymentStatus.SETTLED)


class OldTableLifecycle(Lifecycle[OldTable]):
    class Meta:
        model = OldTable
        name = "columns_old"
        state_field = "phase"
        changed_at_field = "moved_at"
        version_field = "revision"
        initial = Status.NEW
        final = [Status.SHIPPED]

    pay = Transition(Status.NEW, Status.PAID)
    ship = Transition(Status.PAID, Status.SHIPPED)
