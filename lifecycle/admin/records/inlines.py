"""Inline: records with a lifecycle on another record's page; those added there are created by the runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.http import HttpRequest

from lifecycle import registry, runtime
from lifecycle.exceptions import LifecycleError
from lifecycle.runtime.acting import actor_of


def show_states(inlines: Iterable[Any]) -> list[Any]:
    """The inlines of one page; a column of a lifecycle is shown and not typed in."""
    shown = list(inlines)
    for inline in shown:
        owned = [one.state_field for one in registry.for_model(inline.model)]
        inline.readonly_fields = list(dict.fromkeys([*inline.readonly_fields, *owned]))
    return shown


def begin_through_the_runtime(request: HttpRequest, formset: Any) -> None:
    """Has a formset's new rows created by the runtime, where their model has a lifecycle."""
    found = registry.for_model(formset.model)
    if found:
        formset.save_new = _creating(request, formset, found[0].name)


def _creating(request: HttpRequest, formset: Any, lifecycle: str) -> Callable[..., Any]:
    unsaved = formset.save_new

    def save_new(form: Any, commit: bool = True) -> Any:
        record = unsaved(form, commit=False)  # with its parent set
        if commit:
            try:
                runtime.create(record, actor=actor_of(request), lifecycle=lifecycle)
            except LifecycleError as error:
                error.facts["inline"] = str(formset.model._meta.verbose_name)
                raise
            form.save_m2m()
        return record

    return save_new
