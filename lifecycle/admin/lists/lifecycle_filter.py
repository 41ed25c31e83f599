"""LifecycleFilter: the rows of one lifecycle."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from lifecycle import registry

UNKNOWN = "-"


class LifecycleFilter(admin.SimpleListFilter):
    """By lifecycle: those this process knows (asking the table for its names would read all of it), and the rest."""

    title = _("lifecycle")
    parameter_name = "lifecycle"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """The names, in the order of registration."""
        return [*((one.name, one.name) for one in registry.all()), (UNKNOWN, _("Unknown here"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """The rows of one lifecycle."""
        if self.value() == UNKNOWN:
            return queryset.exclude(lifecycle__in=[one.name for one in registry.all()])
        return queryset.filter(lifecycle=self.value()) if self.value() else queryset
