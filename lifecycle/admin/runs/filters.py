"""Filters of the run list: status, follow-up, age, effect."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from lifecycle import clock, registry
from lifecycle.admin.lists.lifecycle_filter import UNKNOWN, LifecycleFilter
from lifecycle.admin.runs import attention
from lifecycle.models import FollowUp, Run, RunStatus


class StatusFilter(admin.SimpleListFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """The statuses, and the rows that wait for somebody."""
        return [("attention", _("Needs a person")), *RunStatus.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> Any:
        """The runs of the chosen status."""
        value = self.value()
        if value == "attention":
            return queryset.filter(attention.NEEDS_A_PERSON)
        return queryset.filter(status=value) if value in RunStatus.values else queryset


class FollowUpFilter(admin.SimpleListFilter):
    title = _("follow-up")
    parameter_name = "follow_up"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """What may become of a follow-up."""
        return [(value, _("Waiting") if value == FollowUp.PENDING else label) for value, label in FollowUp.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> Any:
        """The runs whose follow-up stands so."""
        return queryset.filter(follow_up=self.value()) if self.value() in FollowUp.values else queryset


class AgeFilter(admin.SimpleListFilter):
    title = _("age")
    parameter_name = "age"
    AGES = {
        "hour": (dt.timedelta(hours=1), _("more than 1 hour")),
        "day": (dt.timedelta(days=1), _("more than 1 day")),
        "week": (dt.timedelta(days=7), _("more than 7 days")),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """How long a run has been pending."""
        return [(name, label) for name, (_length, label) in self.AGES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> Any:
        """The runs pending for longer."""
        age = self.AGES.get(self.value() or "")
        return queryset.filter(created_at__lt=clock.now() - age[0]) if age else queryset


class EffectFilter(admin.SimpleListFilter):
    title = _("effect")
    parameter_name = "effect"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """The effects of the chosen lifecycle, or of all."""
        chosen = request.GET.get(LifecycleFilter.parameter_name)
        known = {name for one in registry.all() if chosen in (None, one.name) for name in one.effects}
        return [*((name, name) for name in sorted(known)), (UNKNOWN, _("Unknown here"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> Any:
        """The runs of one effect."""
        if self.value() == UNKNOWN:
            known = Q()
            for one in registry.all():
                known |= Q(lifecycle=one.name, effect__in=list(one.effects))
            return queryset.exclude(known)
        return queryset.filter(effect=self.value()) if self.value() else queryset
