"""The user's rows: read, locked, inserted, and moved — the only place that writes an owned column."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connections, models, router
from django.db.models.functions import Coalesce

from lifecycle import clock
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import Conflict, RecordNotFound
from lifecycle.models import writes
from lifecycle.models.loaded import SLOT
from lifecycle.store import history, reading, timing
from lifecycle.store.record_keys import RecordKey

_NOW = "_lifecycle_now"


def text_id(record_or_pk: Any) -> str:
    """A record's id as history and runs name it."""
    pk = record_or_pk.pk if isinstance(record_or_pk, models.Model) else record_or_pk
    return str(pk)


def parse_id(definition: Definition, record_id: Any) -> Any:
    """The primary key that a text names.

    Raises:
        RecordNotFound: the text cannot be a key of this model, so no record has it.
    """
    try:
        return definition.model._meta.pk.to_python(record_id)
    except (ValidationError, ValueError, TypeError, OverflowError):
        raise not_found(definition, record_id) from None


def not_found(definition: Definition, record_id: Any) -> RecordNotFound:
    """The error that there is no such record."""
    return RecordNotFound(
        f"There is no {definition.model._meta.verbose_name} '{record_id}'.",
        lifecycle=definition.name,
        record_id=str(record_id),
    )


def read(definition: Definition, record_id: str, using: str) -> Any:
    """The record as it is now, without a lock.

    Raises:
        RecordNotFound: it is gone, or the id is none of this model's.
    """
    found = reading.by_key(definition.model, parse_id(definition, record_id), using)
    if found is None:
        raise not_found(definition, record_id)
    return found


def lock(definition: Definition, pk: Any, using: str) -> tuple[Any, dt.datetime]:
    """Locks one row until the transaction ends, and reads it and the database's clock in the same statement.

    Must be called inside ``atomic(using)``. On SQLite the write lock that BEGIN IMMEDIATE took is the lock.

    Returns:
        The record and the moment that counts as now for everything decided under this lock.

    Raises:
        RecordNotFound: there is no such row.
    """
    found, now = _lock(definition, [pk], using, skip_locked=False)
    if not found:
        raise not_found(definition, pk)
    return found[0], now


def lock_many(
    definition: Definition, pks: Sequence[Any], using: str, *, skip_locked: bool = False
) -> tuple[list[Any], dt.datetime]:
    """Locks many rows in the order of their keys (so that two batches never wait for each other crosswise).

    Rows that are gone are left out; with ``skip_locked`` also those that somebody else holds.
    """
    return _lock(definition, pks, using, skip_locked=skip_locked)


def _lock(
    definition: Definition, pks: Sequence[Any], using: str, *, skip_locked: bool
) -> tuple[list[Any], dt.datetime]:
    rows = _rows_to_lock(definition, using)
    features = connections[using].features
    if features.has_select_for_update:
        of = _lock_path(definition.model) if features.has_select_for_update_of else ()
        rows = rows.select_for_update(of=of, skip_locked=skip_locked and features.has_select_for_update_skip_locked)
    expression = timing.in_statement(using)
    if expression is not None:
        rows = rows.annotate(**{_NOW: expression})
    rows = rows.filter(pk=pks[0]) if len(pks) == 1 else rows.filter(pk__in=pks).order_by("pk")
    try:
        found = list(rows)
    except OverflowError:  # a number larger than the column: no row has it
        found = []
    if expression is None or not found:
        return found, clock.now()
    times = [record.__dict__.pop(_NOW) for record in found]
    return found, times[0]


def _rows_to_lock(definition: Definition, using: str) -> models.QuerySet[Any]:
    """The rows that the model's base manager shows, each with its own columns only.

    What a base manager joins may be NULL and what it counts is no row: the database locks neither.
    """
    rows: Any = definition.model._base_manager.using(using)
    query = rows.query
    if query.is_sliced or query.combinator or query.distinct or query.annotations or query.extra:
        return models.QuerySet(definition.model, using=using).filter(pk__in=rows.values("pk"))
    if query.select_related or query.deferred_loading[0]:
        rows = rows.select_related(None).defer(None)
    found: models.QuerySet[Any] = rows
    return found


@cache
def _lock_path(model: Any) -> tuple[str, ...]:
    """What FOR UPDATE names: the model's own row; the row of every table for multi-table inheritance."""
    links, current = [], model
    while current._meta.parents:
        parent, link = next(iter(current._meta.parents.items()))
        if link is None:  # a proxy: the same table
            current = parent
            continue
        links.append(link.name)
        current = parent
    return ("self", *("__".join(links[: i + 1]) for i in range(len(links))))


def exists(definition: Definition, pk: Any, using: str) -> bool:
    """Whether there is a row of this key."""
    return bool(definition.model._base_manager.using(using).filter(pk=pk).exists())


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
    state, version = state_of(definition, record), version_of(definition, record)
    rows = _rows_to_move(definition, using).filter(
        pk=record.pk, **{definition.state_field: state, definition.version_field: version}
    )
    written = {**_touched(record, now), **changes}
    if rows.update(**written, **_owned(definition, target, now, version + 1)) == 0:
        raise conflict(definition, record)
    settle(definition, record, written, target, now, version + 1)
    _read_back([(record, written)], using)


def renumber(definition: Definition, record: Any, version: int, using: str) -> None:
    """Gives a locked row the version its history goes on with, without moving it.

    Raises:
        Conflict: the row is not as it was locked.
    """
    field = definition.model._meta.get_field(definition.version_field)
    before = version_of(definition, record)
    rows = _rows_to_move(definition, using).filter(pk=record.pk, **{definition.version_field: before})
    if rows.update(**{definition.version_field: writes.Write(version, field)}) == 0:
        raise conflict(definition, record)
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
        settle(definition, record, {**touched, **changes}, target, now, version_of(definition, record) + 1)
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


def state_of(definition: Definition, record: Any) -> str:
    """The state the instance is in, as a plain string."""
    value = getattr(record, definition.state_field)
    return str(getattr(value, "value", value))


def stay_lasts(definition: Definition, record: Any, stay_version: int) -> bool:
    """Whether the record is still in the stay that began with this version: no later entry of its lifecycle is there.

    The number alone may have been raised past the lifecycle, by an import, or by `touch`.
    """
    version = version_of(definition, record)
    if version == stay_version:
        return True
    if version < stay_version:
        return False
    return history.stay_lasts(RecordKey.of(definition, record, record._state.db), stay_version)


def version_of(definition: Definition, record: Any) -> int:
    """The version the instance is at."""
    return int(getattr(record, definition.version_field) or 0)


def version_in_row(definition: Definition, record: Any) -> Any:
    """The version that the instance's row has now, inside SQL; without a row, more than any."""
    rows = definition.model._base_manager.using(record._state.db).filter(pk=record.pk)
    return Coalesce(models.Subquery(rows.values(definition.version_field)[:1]), 2**62)


def conflict(definition: Definition, record: Any) -> Conflict:
    """The error that somebody else was faster."""
    return Conflict(
        f"This {definition.model._meta.verbose_name} was changed by somebody else meanwhile. Look again, then decide.",
        lifecycle=definition.name,
        record_id=text_id(record),
        version=version_of(definition, record),
    )


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


def pks_of(rows: models.QuerySet[Any], using: str) -> list[Any]:
    """The keys of a queryset's rows on the database they are written to, in the order of the keys; a slice as it is."""
    rows = rows.using(using)
    if not rows.query.is_sliced:
        rows = rows.order_by("pk")
    return list(rows.values_list("pk", flat=True))


def write_alias_of(rows: models.QuerySet[Any]) -> str:
    """The database that a queryset's rows are written to, as `QuerySet.update` finds it."""
    hints: Mapping[str, Any] = getattr(rows, "_hints", {})
    return str(getattr(rows, "_db", None) or router.db_for_write(rows.model, **hints))


def key_of(record: models.Model) -> Any:
    """The instance's key in the type that its rows have: a UUID given as text is the UUID."""
    key: Any = record._meta.pk
    try:
        return key.to_python(record.pk)
    except ValidationError:
        return record.pk
