"""Admin: orders and stray payments; what moves them is their lifecycle, shown and fired on their pages."""

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
    ModelAdmin = admin.ModelAdmin


@admin.register(Order)
class OrderAdmin(LifecycleAdminMixin, ModelAdmin):
    list_display = ["__str__", "title", "customer", "status", "amount_cents", "currency", "status_changed_at"]
    search_fields = ["title", "customer", "payment_session_id", "payment_ref"]
    fieldsets = [
        (None, {"fields": [("customer", "title"), ("amount_cents", "currency"), ("fail_checkouts", "fail_refunds")]}),
        (
            _("Written by the lifecycle"),
            {
                "fields": [
                    ("payment_attempt", "payment_session_id", "payment_ref", "refund_ref"),
                    ("cancel_reason", "last_error"),
                    ("carrier", "tracking_number"),
                ]
            },
        ),
    ]
    readonly_fields = [
        "payment_attempt",
        "payment_session_id",
        "payment_ref",
        "refund_ref",
        "cancel_reason",
        "last_error",
        "carrier",
        "tracking_number",
    ]

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
        """It begins with a payment nobody asked for."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """To look at; its transitions name their own permission."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Money is not deleted."""
        return False
