"""Expectation: what a decision rests on — a version, a stay, an instance without edits — held against the row."""

from __future__ import annotations

from typing import Any

from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import Conflict, RecordNotFound, StateWriteRefused, StayEnded, UnsavedEdits
from lifecycle.models import writes
from lifecycle.runtime.orders import FiringOrder
from lifecycle.store import records


def refuse_if_moved(order: FiringOrder, record: Any) -> None:
    """Compares the record with what the decision was made on.

    Raises:
        StayEnded: it owed this in a stay that is over.
        Conflict: another version, or a stay that began too late.
    """
    definition, version = order.definition, records.version_of(order.definition, record)
    facts: dict[str, Any] = {
        "lifecycle": definition.name,
        "record_id": records.text_id(record),
        "transition": order.transition.name,
        "version": version,
    }
    if order.stay_version is not None and version != order.stay_version:
        raise StayEnded(
            f"The stay that owed '{order.transition.name}' began with version {order.stay_version} and is over; "
            f"the record is at version {version}, {records.state_of(definition, record)}.",
            state=records.state_of(definition, record),
            **facts,
        )
    if order.expect_version is not None and version != order.expect_version:
        raise Conflict(
            f"This {definition.model._meta.verbose_name} was handled by someone else meanwhile: it is at version "
            f"{version}, you decided on version {order.expect_version}. Please look again.",
            expected=order.expect_version,
            got=version,
            **facts,
        )
    before = order.expect_changed_before
    changed_at = getattr(record, definition.changed_at_field)
    if before is not None and changed_at is not None and changed_at >= before:
        raise Conflict(f"The record was changed at {changed_at}, not before {before}.", **facts)


def refuse_edits(definition: Definition, record: Any) -> None:
    """Refuses an instance whose edits would be lost.

    Raises:
        RecordNotFound: it was never saved.
        StateWriteRefused: an owned column was assigned.
        UnsavedEdits: others were.
    """
    if record.pk is None or record._state.adding:
        raise RecordNotFound(
            f"This {record._meta.verbose_name} is not saved yet; "
            "begin its life with lifecycle.runtime.create(record, actor=…).",
            lifecycle=definition.name,
        )
    edits = writes.unsaved_edits(record)
    if not edits:
        return
    said = ", ".join(f"{name} (saved: {old!r:.40}, now: {new!r:.40})" for name, (old, new) in edits.items())
    facts: dict[str, Any] = {"lifecycle": definition.name, "record_id": records.text_id(record)}
    for name in definition.owned_fields:
        if name in edits:
            raise StateWriteRefused(
                f"{record._meta.object_name}.{name} was assigned {edits[name][1]!r}; only a transition changes it. "
                f"Take the assignment back (refresh_from_db) and fire the transition that leads there.",
                field=name,
                expected=edits[name][0],
                got=edits[name][1],
                **facts,
            )
    raise UnsavedEdits(
        f"Unsaved edits of {record._meta.object_name}: {said}. fire() writes only what its transition declares: "
        "save() them first, pass them as input, or drop them with refresh_from_db().",
        **facts,
    )
