"""An admin site for records with a column of every kind."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from lifecycle.admin import LifecycleAdminMixin, register
from tests.cases.models.readable_input import Everything


class EverythingAdmin(LifecycleAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    pass


site = admin.AdminSite(name="everything")
site.register(Everything, EverythingAdmin)
register(site)
urlpatterns = [path("admin/", admin.site.urls), path("everything/", site.urls)]
