"""StateFilter and StateColumn: a lifecycle's state in the list of its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from lifecycle.admin.parts import badges
from lifecycle.definition.compiled import Definition
from lifecycle.store import records


def state_filter(definition: Definition) -> type[admin.SimpleListFilter]:
    """The filter by state: the definition's labels in its own order."""
    field = definition.model._meta.get_field(definition.state_field)

    class StateFilter(admin.SimpleListFilter):
        title = str(field.verbose_name)
        parameter_name = definition.state_field

        def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
            """Every state."""
            return [(name, state.label) for name, state in definition.states.items()]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
            """The records in one state."""
            value = self.value()
            return queryset.filter(**{definition.state_field: value}) if value in definition.states else queryset

    return StateFilter


def state_column(definition: Definition) -> Callable[[Any], Any]:
    """The column: the state as a badge, sorted by the column itself."""
    field = definition.model._meta.get_field(definition.state_field)

    @admin.display(description=field.verbose_name, ordering=definition.state_field)
    def state(record: Any) -> Any:
        return badges.state_badge(definition, records.state_of(definition, record))

    return state
