"""Repair: rows that their history does not explain, put back as it says or accepted with an entry that says why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction

from lifecycle.actors import Actor
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import RecordNotFound
from lifecycle.models import TransitionLog
from lifecycle.models.drift import Drifted
from lifecycle.models.writes import Write
from lifecycle.store import history, lives, records
from lifecycle.store.record_keys import RecordKey

REPAIR: Final = "$repair"
HISTORY: Final = "history"
ROW: Final = "row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What became of one row: its state and version before and after; the same when somebody was faster."""

    record_id: str
    before: tuple[str, int]
    after: tuple[str, int]


def repair(
    definition: Definition, row: Drifted, keep: str, *, actor: Actor, reason: str, using: str
) -> Repaired | None:
    """Repairs one row in a transaction of its own, under its lock; None when it is gone.

    Args:
        row: what was found; it is looked at again.
        keep: ``"history"`` puts the row back as its last entry says; ``"row"`` accepts it, by an entry after the last
            one.
        actor: who decided.
        reason: why; kept in the entry.
    """
    with transaction.atomic(using=using):
        try:
            record, now = records.lock(definition, records.parse_id(definition, row.record_id), using)
        except RecordNotFound:
            return None
        state, version = records.state_of(definition, record), records.version_of(definition, record)
        key = RecordKey.of(definition, record, using)
        latest = history.latest(key)
        if latest is not None and (latest.target, latest.version) == (state, version):
            return Repaired(record_id=row.record_id, before=(state, version), after=(state, version))
        last = max(version, lives.earlier(key))
        if keep == HISTORY and latest is not None:
            _write(definition, record.pk, latest.target, latest.version, latest.at, using)
            after = (latest.target, latest.version)
        elif version == 0 and last > 0:
            # Most likely saved directly under a key that had a life before: nothing of that one is this record's.
            lives.begin_saved(definition, record, key, now)
            after = (state, last + 1)
        else:
            _write(definition, record.pk, state, last + 1, now, using)
            entry = TransitionLog(
                lifecycle=definition.name,
                record_id=row.record_id,
                transition=REPAIR,
                source=latest.target if latest is not None else None,
                target=state,
                version=last + 1,
                actor_kind=actor.kind,
                actor_id=actor.id,
                actor_label=str(actor.label),
                reason=reason,
                definition_hash=definition.hash,
                at=now,
            )
            history.append(entry, using)
            after = (state, last + 1)
        return Repaired(record_id=row.record_id, before=(state, version), after=after)


def _write(definition: Definition, pk: Any, state: str, version: int, at: Any, using: str) -> None:
    get = definition.model._meta.get_field
    values = zip(definition.owned_fields, (state, at, version), strict=True)
    definition.model._base_manager.using(using).filter(pk=pk).update(
        **{name: Write(value, get(name)) for name, value in values}
    )
