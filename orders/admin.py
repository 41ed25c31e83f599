"""Admin: orders and stray payments, to look at; what moves them has pages of its own."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from orders.models import Order, StrayPayment


class LookOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Records that are not typed in by hand."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Order)
class OrderAdmin(LookOnly):
    list_display = ["id", "title", "customer", "status", "amount_cents", "currency", "status_changed_at"]
    list_filter = ["status"]
    search_fields = ["title", "customer", "payment_session_id", "payment_ref"]


@admin.register(StrayPayment)
class StrayPaymentAdmin(LookOnly):
    list_display = ["id", "order", "payment_ref", "status", "amount_cents", "currency", "reason"]
    list_filter = ["status"]
    list_select_related = ["order"]
