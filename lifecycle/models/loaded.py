"""Loaded: what a row held when its instance was last read or written (the record of an instance).

The record travels in the instance's ``__dict__`` (on ``_state`` it would cost seven times the memory), so copies and
pickles keep it. It begins as what `from_db` was given, so that nothing is worked out per row: the sequence of values
of a complete row, or the pair (names, values) of a partial one — no model that has owned columns has just two. Later it
is a dict by attname. A value that can be changed in place (a list inside a JSONField) would be the same object in the
record and in the instance: such a value is kept apart (`Kept`).
"""

from __future__ import annotations

import copy
import marshal
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import models, router
from django.db.models.fields.files import FieldFile

from lifecycle.models.layout import MISSING, UNREAD, Layout, layout_of

SLOT: Final = "_lifecycle_loaded"


class Kept:
    """What a column held whose value can be changed in place: a copy that such a change does not reach.

    As bytes for what JSON and arrays of plain values are made of, which costs a tenth of copying it.
    """

    __slots__ = ("held", "plain")

    def __init__(self, value: Any) -> None:
        try:
            # Version 2 has no back references: they would depend on who else holds the same objects.
            self.held: Any = marshal.dumps(value, 2)
            self.plain = True
        except ValueError:
            self.held, self.plain = copy.deepcopy(value), False

    def value(self) -> Any:
        """The value, made anew."""
        return marshal.loads(self.held) if self.plain else copy.deepcopy(self.held)  # noqa: S302 our own bytes


IN_PLACE: Final = (list, dict, set, bytearray)


# Asking ------------------------------------------------------------------------------------------


def loaded(instance: models.Model) -> Mapping[str, Any] | None:
    """What the instance's row held when it was last read or written, by attname; None when nothing is known."""
    record = _as_dict(instance)
    return {name: thawed(value) for name, value in record.items() if value is not UNREAD} if record else None


def known(instance: models.Model, attname: str) -> Any:
    """What the row held in one column, or UNREAD."""
    record = instance.__dict__.get(SLOT)
    if type(record) is dict:
        return thawed(record.get(attname, UNREAD))
    row = _full_row(instance, record)
    if row is not None:
        return thawed(row[layout_of(type(instance)).positions[attname]])
    return thawed(_as_dict(instance).get(attname, UNREAD))


def thawed(value: Any) -> Any:
    """A value of the record as the instance would hold it."""
    return value.value() if type(value) is Kept else value


def differs(one: Any, other: Any) -> bool:
    """Whether two column values are not the same; values that cannot be compared (arrays) are not."""
    if one is other:
        return False
    try:
        return bool(one != other)
    except Exception:  # noqa: BLE001 - whatever a foreign type's comparison raises, the answer is the same
        return True


def unsaved_edits(instance: models.Model) -> dict[str, tuple[Any, Any]]:
    """Every concrete column whose value on the instance is not what its row held: ``{attname: (was, is)}``.

    An instance that was never saved is compared with its fields' defaults. A column that was not read but has a
    value (deferred and assigned, or set for its peers by Django) is looked up in the row, with one SELECT.
    A generated column is never an edit.
    """
    record = instance.__dict__.get(SLOT)
    if instance._state.adding:
        return _edits_of_new(instance)
    layout = layout_of(type(instance))
    held = instance.__dict__
    edits: dict[str, tuple[Any, Any]] = {}
    row = _full_row(instance, record)
    if row is not None:
        for attname, was in zip(layout.attnames, row, strict=True):
            now = held.get(attname, MISSING)
            if now is was or now is MISSING or attname in layout.generated:
                continue
            was = thawed(was)
            if differs(now, was):
                edits[attname] = (was, now)
        return edits

    before: Mapping[str, Any] = record if type(record) is dict else _as_dict(instance)
    unknown = []
    for attname in layout.attnames:
        now = held.get(attname, MISSING)
        if now is MISSING or attname in layout.generated:
            continue
        was = thawed(before.get(attname, MISSING))
        if was is MISSING:
            unknown.append(attname)
        elif was is not UNREAD and differs(now, was):
            edits[attname] = (was, now)
    if unknown and (held_by_row := read_row(instance, unknown)) is not None:
        edits.update({name: (was, held[name]) for name, was in held_by_row.items() if differs(held[name], was)})
    return edits


def _edits_of_new(instance: models.Model) -> dict[str, tuple[Any, Any]]:
    """What differs from the defaults; a default that is new each time (a UUID) says nothing."""
    edits: dict[str, tuple[Any, Any]] = {}
    for field in instance._meta.concrete_fields:
        now = instance.__dict__.get(field.attname, MISSING)
        if field.primary_key or field.generated or now is MISSING:
            continue
        default = field.get_default()
        if differs(now, default) and not differs(default, field.get_default()):
            edits[field.attname] = (default, now)
    return edits


def read_row(instance: models.Model, attnames: Sequence[str]) -> dict[str, Any] | None:
    """What the row holds now in these columns (one SELECT); None when there is no row."""
    model: Any = type(instance)
    using = instance._state.db or router.db_for_write(model, instance=instance)
    row: dict[str, Any] | None = model._base_manager.using(using).filter(pk=instance.pk).values(*attnames).first()
    return row


def _full_row(instance: models.Model, record: Any) -> Sequence[Any] | None:
    # Anything but a row of the right width is no knowledge: the next save() asks the row.
    if type(record) is tuple or type(record) is list:
        return record if len(record) == len(layout_of(type(instance)).attnames) else None
    return None


# Noting ------------------------------------------------------------------------------------------


def kept(layout: Layout, names: Any, values: Sequence[Any]) -> Sequence[Any]:
    """The values of a row as the record may hold them.

    Args:
        names: the attnames they belong to, or None for a complete row.
    """
    wanted = layout.in_place if names is None else [i for i, name in enumerate(names) if _in_place(layout, name)]
    apart = {i: Kept(values[i]) for i in wanted if isinstance(values[i], IN_PLACE)}
    return [apart.get(i, value) for i, value in enumerate(values)] if apart else values


def _in_place(layout: Layout, attname: str) -> bool:
    return layout.positions.get(attname, -1) in layout.in_place


def note_loaded(instance: models.Model, values: Mapping[str, Any]) -> None:
    """Adds what is now known about the instance's row, by attname.

    The record is replaced, never edited: copies of the instance may share it.
    """
    record = _as_dict(instance)
    for attname, value in values.items():
        record[attname] = _comparable(value)
    instance.__dict__[SLOT] = record


def note_refreshed(instance: models.Model, names: frozenset[str] | None) -> None:
    """After `refresh_from_db`: the named fields, or all that are loaded."""
    held = instance.__dict__
    note_loaded(
        instance,
        {
            field.attname: held[field.attname]
            for field in instance._meta.concrete_fields
            if field.attname in held and (names is None or field.name in names or field.attname in names)
        },
    )


def note_saved(instance: models.Model, table: Any, names: Any, *, raw: bool) -> None:
    """After one table of the instance was written: the columns of ``table``, or those named.

    A raw save (fixtures) says nothing about owned columns: it goes round the rules, so the next save() asks the row.
    """
    held = instance.__dict__
    if raw and SLOT not in held:
        return
    record = _as_dict(instance)
    for field in table._meta.local_concrete_fields:
        attname = field.attname
        if names and field.name not in names and attname not in names:
            continue
        if raw and getattr(field, "guarded", False):
            continue
        value = held.get(attname, MISSING)
        if value is MISSING or hasattr(value, "resolve_expression"):
            # Computed by the database: what came of it has not been read.
            record.pop(attname, None)
        else:
            record[attname] = _comparable(value)
    held[SLOT] = record


def note_insert(instance: models.Model, layout: Layout) -> None:
    """While a row is being inserted: all that can be known of it (`bulk_create` gives no later chance).

    The other columns are marked UNREAD: written by the database or by a field's own pre_save().
    """
    held = instance.__dict__
    record: dict[str, Any] = dict.fromkeys(layout.rewritten, UNREAD)
    for attname in layout.plain:
        value = held.get(attname, UNREAD)
        record[attname] = UNREAD if hasattr(value, "resolve_expression") else _comparable(value)
    for field in instance._meta.pk_fields:
        if record[field.attname] is None:
            record[field.attname] = UNREAD
    held[SLOT] = record


def portable(instance: models.Model) -> dict[str, Any] | None:
    """The record by column name, for copies and pickles: they may meet a class whose columns have moved."""
    return _as_dict(instance) if SLOT in instance.__dict__ else None


def _as_dict(instance: models.Model) -> dict[str, Any]:
    record = instance.__dict__.get(SLOT)
    if type(record) is dict:
        return dict(record)
    row = _full_row(instance, record)
    if row is not None:
        return dict(zip(layout_of(type(instance)).attnames, row, strict=True))
    if type(record) is tuple and len(record) == 2 and type(record[0]) is list:
        return dict(zip(*record, strict=False))
    return {}


def _comparable(value: Any) -> Any:
    # A FieldFile changes in place when another file is saved through it; its name does not.
    if isinstance(value, FieldFile):
        return value.name
    return Kept(value) if isinstance(value, IN_PLACE) else value
