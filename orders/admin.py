"""Admin: orders and stray payments, with the buttons, history and effect runs of their lifecycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from lifecycle.admin import LifecycleAdminMixin
from orders.models import Order, StrayPayment

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin  # Django's class takes no type when the program runs

# Shown row by row, and never typed in.
WRITTEN_BY_TRANSITIONS = [
    ("payment_attempt", "payment_session_id", "payment_ref", "refund_ref"),
    ("cancel_reason", "last_error"),
    ("carrier", "tracking_number"),
]


@admin.register(Order)
class OrderAdmin(LifecycleAdminMixin, ModelAdmin):
    list_display = ["__str__", "title", "customer", "status", "amount_cents", "currency", "status_changed_at"]
    search_fields = ["title", "customer", "payment_session_id", "payment_ref"]
    fieldsets = [
        (None, {"fields": [("customer", "title"), ("amount_cents", "currency"), ("fail_checkouts", "fail_refunds")]}),
        (
            _("Written by the lifecycle"),
            {"fields": [*WRITTEN_BY_TRANSITIONS]},
        ),
    ]
    readonly_fields = [name for row in WRITTEN_BY_TRANSITIONS for name in row]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Nothing is written before there is an order."""
        shown = super().get_fieldsets(request, obj)
        return shown if obj is not None else shown[:1]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """What a customer was asked to pay is fixed once the draft is left."""
        fixed = ["amount_cents", "currency"] if obj is not None and obj.status != Order.Status.DRAFT else []
        return [*super().get_readonly_fields(request, obj), *fixed]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Money may still come for it: an order is cancelled, not deleted."""
        return False


@admin.register(StrayPayment)
class StrayPaymentAdmin(LifecycleAdminMixin, ModelAdmin):
    list_display = ["__str__", "order", "status", "amount_cents", "currency", "reason"]
    list_select_related = ["order"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """The webhook records it."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing on it is typed in; "Retry refund" asks for a permission of its own."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Money is not deleted."""
        return False
