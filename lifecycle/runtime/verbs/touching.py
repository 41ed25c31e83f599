"""Touching: a record's version goes up, with an entry, because somebody changed what decisions are made on."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError

from lifecycle import registry
from lifecycle.actors import as_actor
from lifecycle.definition.contexts import Record
from lifecycle.models import TOUCH, TransitionLog
from lifecycle.runtime.deciding import expectations, orders
from lifecycle.runtime.results import Fired
from lifecycle.runtime.verbs import firing
from lifecycle.runtime.writing import retrying
from lifecycle.store import history, lives, moving, records
from lifecycle.store.record_keys import RecordKey


def touch(record: Record, *, actor: Any, reason: str = "", lifecycle: Any = None) -> Fired[Record]:
    """Makes decisions on the record as it was stale: its version goes up, and an entry says who changed what.

    For plain edits of what people decide on: save() the edit, then touch, in one transaction. Whoever then fires with
    the version they saw gets a `Conflict`. The record stays where it is: no guard, hook or signal is called, no effect
    is enqueued, and its stay goes on, with its timeouts, reminders and pending follow-ups.

    Args:
        record: a saved instance without unsaved edits.
        actor: a user, ``SYSTEM`` or ``Actor("name")``. Required. No permission is asked.
        reason: kept in the history, at most 500 characters.
        lifecycle: which one, for a model with several.

    Raises:
        RecordNotFound, UnsavedEdits, InvalidInput: the call does not fit.
        Conflict: somebody else was faster.
    """
    definition = registry.of(lifecycle if lifecycle is not None else record)
    who, said = as_actor(actor), orders.checked_reason(reason)
    edits, using = expectations.edits_of(definition, record), firing.write_alias(record)
    key = RecordKey.of(definition, records.key_of(record), using)

    def work() -> Fired[Any]:
        row, now = records.lock(definition, key.pk, using)
        expectations.refuse_edits(definition, row, edits)
        if records.version_of(definition, row) == 0:
            lives.begin_saved(definition, row, key, now)
        moving.renumber(definition, row, records.version_of(definition, row) + 1, using)
        state = records.state_of(definition, row)
        entry = TransitionLog(
            lifecycle=definition.name,
            record_id=key.record_id,
            transition=TOUCH,
            source=state,
            target=state,
            version=records.version_of(definition, row),
            actor_kind=who.kind,
            actor_id=who.id[:255],
            actor_label=str(who.label)[:150],
            reason=said,
            definition_hash=definition.hash,
            at=now,
        )
        return Fired(record=row, entry=history.append(entry, using))

    def settle(touched: Fired[Any]) -> None:
        moving.align(definition, record, touched.record)

    try:
        touched = retrying.in_own_transaction(work, using, settle=settle)
    except IntegrityError as error:
        explained = expectations.explained(definition, key)
        if explained is None:
            raise
        raise explained from error
    return Fired(record=record, entry=touched.entry)
