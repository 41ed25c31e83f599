"""Moving: the writes to the records themselves — the insert that begins a life, the update that moves it on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from django.db import models

from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import Conflict
from lifecycle.models import writes
from lifecycle.models.loaded import SLOT
from lifecycle.store import records


def forget_beginning(definition: Definition, record: Any) -> None:
    """Lets an instance forget what its rolled-back insert wrote into its version and time."""
    record.__dict__.update({definition.version_field: 0, definition.changed_at_field: None})
    record.__dict__.pop(SLOT, None)


def insert(record: Any, starts: Iterable[tuple[Definition, str, int]], now: dt.datetime, using: str) -> None:
    """Inserts a record in the first state of each of its lifecycles, given with the version it begins at.

    Database errors propagate; the instance is then as before.
    """
    owned: dict[str, Any] = {}
    for definition, state, version in starts:
        owned |= {definition.state_field: state, definition.changed_at_field: now, definition.version_field: version}
    with writes.starting_with(record, owned):
        record.save(force_insert=True, using=using)


def move(
    definition: Definition, record: Any, changes: Mapping[str, Any], target: str, now: dt.datetime, using: str
) -> None:
    """Moves a locked row: state, time, version + 1 and the changed columns in one guarded UPDATE.

    The instance is brought in line with the row.

    Raises:
        Conflict: the row is not in the state and version the decision was made on.
    """
    state, version = records.state_of(definition, record), records.version_of(definition, record)
    rows = _rows_to_move(definition, using).filter(
        pk=record.pk, **{definition.state_field: state, definition.version_field: version}
    )
    written = {**_touched(record, now), **changes}
    if rows.update(**written, **_owned(definition, target, now, version + 1)) == 0:
        raise records.conflict(definition, record)
    settle(definition, record, written, target, now, version + 1)
    _read_back([(record, written)], using)


def renumber(definition: Definition, record: Any, version: int, using: str) -> None:
    """Gives a locked row the version its history goes on with, without moving it.

    Raises:
        Conflict: the row is not as it was locked.
    """
    field = definition.model._meta.get_field(definition.version_field)
    before = records.version_of(definition, record)
    rows = _rows_to_move(definition, using).filter(pk=record.pk, **{definition.version_field: before})
    if rows.update(**{definition.version_field: writes.Write(version, field)}) == 0:
        raise records.conflict(definition, record)
    record.__dict__[definition.version_field] = version
    writes.note_loaded(record, values(record))


def move_many(
    definition: Definition,
    moves: Sequence[tuple[Any, Mapping[str, Any], str]],
    now: dt.datetime,
    using: str,
) -> None:
    """Moves many locked rows, given as (record, changes, target), in one UPDATE.

    Raises:
        Conflict: not every row was as it had been locked; nothing of the batch may then be kept.
    """
    model, pks = definition.model, [record.pk for record, _, _ in moves]
    version = writes.WriteExpression(
        models.F(definition.version_field) + 1, model._meta.get_field(definition.version_field)
    )
    written: dict[str, Any] = {
        name: _per_row(model, name, [(record.pk, changes) for record, changes, _ in moves])
        for name in sorted({name for _, changes, _ in moves for name in changes})
    }
    targets = {target for _, _, target in moves}
    state_field = model._meta.get_field(definition.state_field)
    if len(targets) == 1:
        state: Any = writes.Write(targets.pop(), state_field)
    else:
        state = writes.WriteExpression(
            models.Case(
                *(
                    models.When(
                        pk__in=[record.pk for record, _, target in moves if target == one], then=models.Value(one)
                    )
                    for one in sorted(targets)
                ),
                output_field=models.CharField(),
            ),
            state_field,
        )
    changed_at = writes.Write(now, model._meta.get_field(definition.changed_at_field))
    touched = _touched(moves[0][0], now)
    updated = (
        _rows_to_move(definition, using)
        .filter(pk__in=pks)
        .update(
            **touched,
            **written,
            **{
                definition.state_field: state,
                definition.changed_at_field: changed_at,
                definition.version_field: version,
            },
        )
    )
    if updated != len(moves):
        raise Conflict(
            f"{len(moves) - updated} of {len(moves)} records of '{definition.name}' changed meanwhile.",
            lifecycle=definition.name,
        )
    for record, changes, target in moves:
        settle(definition, record, {**touched, **changes}, target, now, records.version_of(definition, record) + 1)
    _read_back([(record, changes) for record, changes, _ in moves], using)


def settle(
    definition: Definition, record: Any, changes: Mapping[str, Any], target: str, now: dt.datetime, version: int
) -> None:
    """Brings an instance in line with the row as it was just written, but for what only the database knows."""
    for name, value in changes.items():
        if not hasattr(value, "resolve_expression"):
            setattr(record, name, value)
    record.__dict__.update(
        {definition.state_field: target, definition.changed_at_field: now, definition.version_field: version}
    )
    writes.note_loaded(record, values(record))


def _read_back(moved: Sequence[tuple[Any, Mapping[str, Any]]], using: str) -> None:
    """Gives instances what the database worked out: generated columns and expressions; one statement, if any."""
    model: Any = type(moved[0][0])
    names = set(_generated(model))
    for _, changes in moved:
        names |= {
            model._meta.get_field(name).attname
            for name, value in changes.items()
            if hasattr(value, "resolve_expression")
        }
    if not names:
        return
    rows: models.QuerySet[Any] = models.QuerySet(model, using=using).filter(pk__in=[record.pk for record, _ in moved])
    held = {row.pop("pk"): row for row in rows.values("pk", *sorted(names))}
    for record, _ in moved:
        for name, value in held.get(record.pk, {}).items():
            setattr(record, name, value)
        writes.note_loaded(record, values(record))


@cache
def _generated(model: Any) -> tuple[str, ...]:
    return tuple(field.attname for field in model._meta.concrete_fields if field.generated)


def align(definition: Definition, stale: Any, fresh: Any) -> None:
    """Makes the caller's instance show what the row holds; cached relations that no longer fit are dropped."""
    for field in definition.model._meta.concrete_fields:
        if field.attname not in fresh.__dict__:
            continue
        value = fresh.__dict__[field.attname]
        if field.is_relation and stale.__dict__.get(field.attname) != value and field.is_cached(stale):
            field.delete_cached_value(stale)
        stale.__dict__[field.attname] = value
    stale._state.adding = False
    stale._state.db = fresh._state.db
    writes.note_loaded(stale, values(stale))


def _rows_to_move(definition: Definition, using: str) -> Any:
    # Locked already, hence found already: what the base manager leaves out or joins is not asked again.
    return models.QuerySet(definition.model, using=using)


def _owned(definition: Definition, target: str, now: dt.datetime, version: int) -> dict[str, Any]:
    get = definition.model._meta.get_field
    pairs = zip(definition.owned_fields, (target, now, version), strict=True)
    return {name: writes.Write(value, get(name)) for name, value in pairs}


@cache
def _auto_now(model: Any) -> tuple[Any, ...]:
    # update() does not touch auto_now columns; a transition is a change of the row like any save.
    return tuple(field for field in model._meta.concrete_fields if getattr(field, "auto_now", False))


def _touched(record: Any, now: dt.datetime) -> dict[str, Any]:
    """What saving the record would put into its auto_now columns: a moment of ours, else what the field says."""
    return {
        field.attname: now if type(field).pre_save is models.DateTimeField.pre_save else field.pre_save(record, False)
        for field in _auto_now(record._meta.model)
    }


def values(record: Any) -> dict[str, Any]:
    """What the instance holds in the columns of its table."""
    held = record.__dict__
    return {f.attname: held[f.attname] for f in record._meta.concrete_fields if f.attname in held}


def _per_row(model: Any, name: str, rows: Sequence[tuple[Any, Mapping[str, Any]]]) -> Any:
    """One column's new value for every row of a batch: the value itself if all agree, else a CASE over the keys."""
    field = model._meta.get_field(name)
    first = rows[0][1].get(name, _MISSING)
    if all(changes.get(name, _MISSING) == first for _, changes in rows) and first is not _MISSING:
        return first
    whens = [
        models.When(
            pk=pk, then=value if hasattr(value, "resolve_expression") else models.Value(value, output_field=field)
        )
        for pk, changes in rows
        if (value := changes.get(name, _MISSING)) is not _MISSING
    ]
    return models.Case(*whens, default=models.F(field.attname), output_field=field)


_MISSING = object()
