"""Parameters as they are now: the declaration's defaults under the operators' overrides."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import Value

from lifecycle.definition import overrides
from lifecycle.definition.compiled import Definition
from lifecycle.models import ParameterOverride, Tick
from lifecycle.store import timing


def read(definition: Definition, using: str) -> Any:
    """The lifecycle's parameters; one query, and none for a lifecycle without parameters."""
    return read_with_complaints(definition, using)[0]


def read_with_complaints(definition: Definition, using: str) -> tuple[Any, dict[str, str]]:
    """The parameters, and what is wrong with each stored value that does not count; see `overrides.in_force`."""
    if definition.parameters is None:
        return None, {}
    rows = ParameterOverride.objects.using(using).filter(lifecycle=definition.name)
    return overrides.in_force(definition, dict(rows.values_list("name", "value")))


def lock(lifecycle: str, using: str) -> dict[str, Any]:
    """The overrides of a lifecycle as JSON, locked until the transaction ends; one lock however many there are.

    Two values are judged together, also while neither has a row that could be locked: so the lock is a row of its own.
    """
    name = f"parameters {lifecycle}"[:50]
    gate = Tick.objects.using(using).filter(name=name)
    now = timing.now(using)
    if not gate.update(next_at=now):
        Tick.objects.using(using).bulk_create([Tick(name=name, next_at=now)], ignore_conflicts=True)
        gate.update(next_at=now)
    rows = ParameterOverride.objects.using(using).filter(lifecycle=lifecycle)
    return dict(rows.values_list("name", "value"))


def write(lifecycle: str, name: str, value: Any, now: dt.datetime, using: str) -> None:
    """Writes one override; under `lock`. The unique constraint refuses a second one written at the same time."""
    rows = ParameterOverride.objects.using(using)
    if value is None:
        # JSON's null is a value of an optional parameter; Django would write SQL's NULL.
        value = Value(None, ParameterOverride._meta.get_field("value"))
    if not rows.filter(lifecycle=lifecycle, name=name).update(value=value, updated_at=now):
        rows.create(lifecycle=lifecycle, name=name, value=value, updated_at=now)


def clear(lifecycle: str, name: str, using: str) -> None:
    """Deletes one override: the declaration's value rules again."""
    ParameterOverride.objects.using(using).filter(lifecycle=lifecycle, name=name).delete()
