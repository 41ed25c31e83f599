"""Creation: in which state, with which version and time a record may begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import models

from lifecycle.exceptions import NotAnInitialState
from lifecycle.models import permits
from lifecycle.models.layout import MISSING, layout_of
from lifecycle.models.loaded import note_insert
from lifecycle.suggest import did_you_mean

if TYPE_CHECKING:
    from lifecycle.models.fields import StateField
    from lifecycle.models.owned_column import OwnedColumn


def begin(field: OwnedColumn, instance: models.Model) -> Any:
    """The value an INSERT writes into one owned column; the instance then holds the same.

    Every state of the record is looked at before anything on the instance changes, so a refused insert leaves it as
    it was. Safe to repeat: Django 6 asks twice per insert.
    """
    layout = layout_of(type(instance))
    given: Mapping[str, Any] = instance.__dict__.get(permits.STARTING, {})
    # The first owned column looks for all. A state looks again for itself: where the tables of a parent are updated and
    # only a child's is inserted, the first one is not asked.
    states = layout.states if field is layout.owned[0] else [state for state in layout.states if state is field]
    for state in states:
        check_start(state, instance, given)
    value = field.first_value(_present(field, instance), given, free=permits.creation_is_free())
    if instance.__dict__.get(field.attname, MISSING) is not value:
        setattr(instance, field.attname, value)
    if field is layout.owned[-1]:
        note_insert(instance, layout)
    return value


def check_start(state: StateField, instance: models.Model, given: Mapping[str, Any]) -> None:
    """Raises NotAnInitialState unless the record may begin in the state it holds."""
    value = given[state.attname] if state.attname in given else _present(state, instance)
    allowed = state.states if state.attname in given or permits.creation_is_free() else state.beginnings
    if isinstance(value, str) and value in allowed:
        return
    raise NotAnInitialState(
        _sentence(state, instance, value, allowed),
        model=instance._meta.label,
        field=state.name,
        expected=allowed,
        got=value,
    )


def _present(field: OwnedColumn, instance: models.Model) -> Any:
    value = instance.__dict__.get(field.attname, MISSING)
    return getattr(instance, field.attname) if value is MISSING else value


def _sentence(state: StateField, instance: models.Model, value: Any, allowed: tuple[str, ...]) -> str:
    model = type(instance).__name__
    column = f"{model}.{state.name}"
    if isinstance(value, str) and value not in state.states:
        return f"{column} has no state {str(value)!r}. {did_you_mean(str(value), state.states)}"
    shown = repr(str(value)) if isinstance(value, str) else repr(value)
    beginnings = " or ".join(repr(str(name)) for name in allowed)
    record = instance._meta.model_name
    return (
        f"{model} begins in {beginnings}, but {column} is {shown} (tried to create it there). "
        f"Create it where it begins, then fire transitions: {record}.{state.accessor}.fire('…', actor=…). "
        f"For tests and imports: lifecycle.models.writes.creation_in_any_state()."
    )
