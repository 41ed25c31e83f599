"""Expectation: what a decision rests on — a version, a stay, an instance without edits — held against the row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DatabaseError

from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import (
    Conflict,
    HistoryAhead,
    LifecycleError,
    RecordNotFound,
    StateWriteRefused,
    StayEnded,
    UnsavedEdits,
)
from lifecycle.models import writes
from lifecycle.runtime.deciding import sentences
from lifecycle.runtime.deciding.orders import FiringOrder
from lifecycle.store import lives, records
from lifecycle.store.record_keys import RecordKey

# Columns of an instance whose values are not what its row held: {attname: (was, is)}.
Edits = Mapping[str, tuple[Any, Any]]
NO_EDITS: Edits = {}


def refuse_if_moved(order: FiringOrder, record: Any, key: RecordKey) -> None:
    """Compares the record with what the decision was made on.

    Raises:
        StayEnded: it enqueued this in a stay that is over.
        Conflict: another version, or a stay that began too late.
    """
    definition, version = order.definition, records.version_of(order.definition, record)
    facts: dict[str, Any] = {
        "lifecycle": definition.name,
        "record_id": key.record_id,
        "transition": order.transition.name,
        "version": version,
    }
    if order.follows_run and version == 0:
        raise StayEnded("The record whose run this follows was deleted; another one has its key now.", **facts)
    if order.stay_version is not None and not records.stay_lasts(definition, record, order.stay_version):
        facts["state"] = records.state_of(definition, record)
        raise StayEnded(
            sentences.stay_is_over(definition, order.transition.label, order.stay_version, version, facts["state"]),
            **facts,
        )
    if order.expect_version is not None and version != order.expect_version:
        raise Conflict(
            sentences.someone_was_faster(definition, now=version, seen=order.expect_version),
            expected=order.expect_version,
            got=version,
            **facts,
        )
    before = order.expect_changed_before
    changed_at = getattr(record, definition.changed_at_field)
    if before is not None and changed_at is not None and changed_at >= before:
        raise Conflict(f"The record was changed at {changed_at}, not before {before}.", **facts)


def edits_of(definition: Definition, record: Any) -> Edits:
    """What of an instance looks unsaved, to be held against the locked row.

    Raises:
        RecordNotFound: it was never saved.
    """
    if record.pk is None or record._state.adding:
        raise RecordNotFound(
            f"This {record._meta.verbose_name} is not saved yet; "
            "begin its life with lifecycle.runtime.create(record, actor=…).",
            lifecycle=definition.name,
        )
    return writes.unsaved_edits(record)


def edits_of_all(definition: Definition, instances: Iterable[Any]) -> Edits:
    """The same for several instances of one row, as a batch may hold them."""
    found: dict[str, tuple[Any, Any]] = {}
    for record in instances:
        found |= edits_of(definition, record)
    return found


def refuse_edits(definition: Definition, row: Any, edits: Edits) -> None:
    """Refuses an instance whose edits would be lost: what its locked row does not hold.

    An instance that was written some other way (``bulk_update``) differs from what was read, not from its row.

    Raises:
        StateWriteRefused: an owned column was assigned.
        UnsavedEdits: others were.
    """
    edits = {name: edit for name, edit in edits.items() if not _is_held(row, name, edit[1])}
    if not edits:
        return
    said = ", ".join(f"{name} (saved: {old!r:.40}, now: {new!r:.40})" for name, (old, new) in edits.items())
    facts: dict[str, Any] = {"lifecycle": definition.name, "record_id": records.text_id(row)}
    for name in definition.owned_fields:
        if name in edits:
            raise StateWriteRefused(
                f"{row._meta.object_name}.{name} was assigned {edits[name][1]!r}; only a transition changes it. "
                f"Take the assignment back (refresh_from_db) and fire the transition that leads there.",
                field=name,
                expected=edits[name][0],
                got=edits[name][1],
                **facts,
            )
    computed = [name for name, (_, new) in edits.items() if hasattr(new, "resolve_expression")]
    if computed:
        raise UnsavedEdits(
            f"{row._meta.object_name} holds expressions instead of values: {', '.join(computed)}. If they are saved "
            "already, call refresh_from_db() and fire again (to save them once more would apply them twice); if they "
            "are not, save() first, then refresh_from_db().",
            **facts,
        )
    raise UnsavedEdits(
        f"Unsaved edits of {row._meta.object_name}: {said}. fire() writes only what its transition declares: "
        "save() them first, pass them as input, or drop them with refresh_from_db().",
        **facts,
    )


def explained(definition: Definition, key: RecordKey) -> HistoryAhead | None:
    """What a constraint's refusal means: `HistoryAhead` when the row is older than its history, else None.

    Must be called after the transaction, or the savepoint, of the refusal has ended.
    """
    try:
        record = records.read(definition, key.record_id, key.using)
        last = lives.earlier(key)
    except (DatabaseError, LifecycleError):
        return None
    version = records.version_of(definition, record)
    if last <= version:
        return None
    return HistoryAhead(
        f"This {definition.model._meta.verbose_name} is at version {version}, but its history goes to version {last}: "
        "the row was put back, by a fixture or a backup. "
        f"`manage.py lifecycle_repair {definition.name}` shows such rows and lets them go on after their history.",
        lifecycle=definition.name,
        record_id=key.record_id,
        version=version,
        expected=last,
        got=version,
    )


def _is_held(row: Any, name: str, value: Any) -> bool:
    """Whether the row holds a value of an instance, also one given in another form (a number as text)."""
    held = row.__dict__.get(name)
    if not writes.differs(value, held):
        return True
    try:
        return not writes.differs(row._meta.get_field(name).to_python(value), held)
    except (ValidationError, ValueError, TypeError):
        return False
