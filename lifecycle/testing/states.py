"""States: records put where a test needs them, without the way there."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import models, router, transaction

from lifecycle import registry
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import UnknownState
from lifecycle.models import writes
from lifecycle.store import moving, records
from lifecycle.suggest import did_you_mean

Model = TypeVar("Model", bound=models.Model)


def force_state(record: Model, state: Any, *, lifecycle: Any = None) -> Model:
    """Puts a saved record into a state: no guard, no entry, no effect; its stay there begins now.

    Args:
        record: brought up to date.
        state: a member of the choices, or its value.
        lifecycle: which one, for a model with several.

    Raises:
        UnknownState: the lifecycle has no such state.
    """
    definition = registry.of(lifecycle if lifecycle is not None else record)
    name = _known(definition, state)
    using = router.db_for_write(type(record), instance=record)
    with transaction.atomic(using=using):
        fresh, now = records.lock(definition, record.pk, using)
        moving.move(definition, fresh, {}, name, now, using)
    moving.align(definition, record, fresh)
    return record


def create_in_state(model: type[Model], state: Any, *, lifecycle: Any = None, **values: Any) -> Model:
    """A new record that begins in any state: no entry, no effect; version 0 unless given."""
    definition = registry.of(lifecycle if lifecycle is not None else model)
    values[definition.state_field] = _known(definition, state)
    with writes.creation_in_any_state():
        return model._default_manager.create(**values)


def _known(definition: Definition, state: Any) -> str:
    name = str(getattr(state, "value", state))
    if name not in definition.states:
        raise UnknownState(f"'{definition.name}' has no state '{name}'. {did_you_mean(name, definition.states)}")
    return name
