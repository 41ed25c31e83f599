"""Columns: which changed-at and version column belong to which state of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import models

from lifecycle.models.layout import Layout, layout_of

if TYPE_CHECKING:
    from lifecycle.models.fields import ChangedAtField, StateField, VersionField


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """A state with its pair; a column is None only where the system checks complain about it."""

    state: StateField
    changed_at: ChangedAtField | None
    version: VersionField | None


def owned_columns(model: type[models.Model]) -> tuple[Columns, ...]:
    """Every guarded state of ``model`` with its pair, in the order of the columns.

    A pair declared with ``for_state`` belongs to that state. The pair without (as `LifecycleModel` brings it) belongs
    to the first state that has none of its own.
    """
    layout = layout_of(model)
    own = {state.name: _pair(layout, state.name) for state in layout.states}
    unpaired = next((name for name, pair in own.items() if pair == (None, None)), None)
    if unpaired is not None:
        own[unpaired] = _pair(layout, None)
    return tuple(
        Columns(state=state, changed_at=own[state.name][0], version=own[state.name][1]) for state in layout.states
    )


def columns_of(model: type[models.Model], state_field: str) -> Columns:
    """One state's columns.

    Raises:
        LookupError: the model has no guarded StateField of this name.
    """
    for columns in owned_columns(model):
        if columns.state.name == state_field:
            return columns
    raise LookupError(f"{model.__name__} has no StateField {state_field!r}.")


def _pair(layout: Layout, for_state: str | None) -> tuple[Any, Any]:
    """The changed-at and the version column declared for this state."""

    def first(role: str) -> Any:
        return next((one for one in layout.owned if one.role == role and one.for_state == for_state), None)

    return first("changed_at"), first("version")
