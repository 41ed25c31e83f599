"""An admin site where books are written on their shelf's page."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from lifecycle.admin import LifecycleAdminMixin
from tests.cases.models.inlines import Book, Shelf


class BookInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Book
    fields = ["title", "status"]
    extra = 1


class ShelfAdmin(LifecycleAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    inlines = [BookInline]


site = admin.AdminSite(name="inline")
site.register(Shelf, ShelfAdmin)

urlpatterns = [path("admin/", admin.site.urls), path("inline/", site.urls)]
