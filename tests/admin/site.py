"""An admin site of somebody's own, where each agent sees the tickets that bear their name."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import path

from lifecycle.admin import LifecycleAdminMixin, register
from tests.columns.models import Invoice
from tests.support.models import Parcel, Ticket


class TicketAdmin(LifecycleAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["title", "status"]
    list_filter = ["priority"]

    def get_queryset(self, request: HttpRequest) -> Any:
        rows = super().get_queryset(request)
        return rows if request.user.is_superuser else rows.filter(note=request.user.get_username())


class ParcelAdmin(LifecycleAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    pass


class InvoiceAdmin(LifecycleAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Two lifecycles on one model."""


site = admin.AdminSite(name="own")
site.register(Ticket, TicketAdmin)
site.register(Parcel, ParcelAdmin)
site.register(Invoice, InvoiceAdmin)
register(site)

urlpatterns = [path("admin/", admin.site.urls), path("own/", site.urls)]
