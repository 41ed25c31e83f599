"""An admin site for records whose lifecycle has more states than one picture can show."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from lifecycle.admin import LifecycleAdminMixin, register
from tests.cases.models.diagrams import Claim


class ClaimAdmin(LifecycleAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    pass


site = admin.AdminSite(name="claims")
site.register(Claim, ClaimAdmin)
register(site)
urlpatterns = [path("admin/", admin.site.urls), path("claims/", site.urls)]
