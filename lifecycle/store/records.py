"""The user's rows: read, locked, inserted, and moved — the only place that writes an owned column."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connections, models, router
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from lifecycle import clock
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import Conflict, RecordNotFound
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
        _("This %(model)s was changed by somebody else meanwhile. Look again, then decide.")
        % {"model": definition.model._meta.verbose_name},
        lifecycle=definition.name,
        record_id=text_id(record),
        version=version_of(definition, record),
    )


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


def key_of(record: Any) -> Any:
    """The instance's key in the type that its rows have: a UUID given as text is the UUID."""
    key: Any = record._meta.pk
    try:
        return key.to_python(record.pk)
    except ValidationError:
        return record.pk
