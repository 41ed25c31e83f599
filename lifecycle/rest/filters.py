"""LifecycleFilterSet: filters by state and time, for the filtersets of a project's own viewsets."""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any, ClassVar

import django_filters
from django.db.models import Exists, QuerySet
from django.utils.translation import gettext_lazy as _

from lifecycle import registry
from lifecycle.definition.compiled import Definition
from lifecycle.models import FollowUp, Run, RunStatus
from lifecycle.models.record_ids import outer_record_id
from lifecycle.rest.timestamps import within_calendar

_FAILED = (RunStatus.FAILED, RunStatus.DEAD)
_UNDONE = (FollowUp.PENDING, FollowUp.ABANDONED)


class LifecycleFilterSet(django_filters.FilterSet):  # type: ignore[misc]
    """Adds ``state``, ``entered_before``, ``entered_after``, ``has_failed_run`` and ``waiting_since`` to a filterset.

    A subclass names its ``lifecycle``, and in ``Meta`` its model and further fields, as with any filterset.
    """

    lifecycle: ClassVar[Any] = None
    """The `Lifecycle` class."""

    state = django_filters.MultipleChoiceFilter(method="in_state", label=_("State"))
    entered_before = django_filters.IsoDateTimeFilter(
        method="entered_its_state_before", label=_("In its state since before")
    )
    entered_after = django_filters.IsoDateTimeFilter(
        method="entered_its_state_after", label=_("In its state since after")
    )
    has_failed_run = django_filters.BooleanFilter(method="with_failed_run", label=_("Has a failed or dead effect run"))
    waiting_since = django_filters.IsoDateTimeFilter(
        method="with_follow_up_waiting", label=_("Has a follow-up that waits since before")
    )

    @classmethod
    def get_filters(cls) -> dict[str, Any]:
        """The filters; the states are those of this filterset's lifecycle."""
        filters: dict[str, Any] = super().get_filters()
        if cls.lifecycle is not None:
            filters["state"] = state = copy.deepcopy(filters["state"])
            state.extra["choices"] = [(one.name, one.label) for one in registry.of(cls.lifecycle).states.values()]
        return filters

    @property
    def definition(self) -> Definition:
        """The compiled lifecycle."""
        return registry.of(type(self).lifecycle)

    def in_state(self, rows: QuerySet[Any], name: str, value: list[str]) -> QuerySet[Any]:
        """Records in one of these states."""
        return rows.filter(**{f"{self.definition.state_field}__in": value}) if value else rows

    def entered_its_state_before(self, rows: QuerySet[Any], name: str, value: dt.datetime) -> QuerySet[Any]:
        """Records that came to their state before this moment."""
        return rows.filter(**{f"{self.definition.changed_at_field}__lt": within_calendar(value)})

    def entered_its_state_after(self, rows: QuerySet[Any], name: str, value: dt.datetime) -> QuerySet[Any]:
        """Records that came to their state after this moment."""
        return rows.filter(**{f"{self.definition.changed_at_field}__gt": within_calendar(value)})

    def with_failed_run(self, rows: QuerySet[Any], name: str, value: bool) -> QuerySet[Any]:
        """Records with, or without, a run that failed or died and was not retried since."""
        failed = Exists(self._runs(rows).filter(status__in=_FAILED))
        return rows.filter(failed if value else ~failed)

    def with_follow_up_waiting(self, rows: QuerySet[Any], name: str, value: dt.datetime) -> QuerySet[Any]:
        """Records with a finished run whose follow-up could not be applied and has waited since before this moment."""
        return rows.filter(
            Exists(self._runs(rows).filter(follow_up__in=_UNDONE, finished_at__lt=within_calendar(value)))
        )

    def _runs(self, rows: QuerySet[Any]) -> Any:
        return Run.objects.filter(
            lifecycle=self.definition.name, record_id=outer_record_id(rows.model, rows.db)
        ).order_by()
