"""Adoption: the entry with which the history of a row begins that was there before its lifecycle, or was imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import models, transaction
from django.db.models import Exists, Subquery

from lifecycle.actors import SYSTEM
from lifecycle.definition.compiled import Definition
from lifecycle.models import CREATE, TransitionLog
from lifecycle.models.record_ids import outer_record_id
from lifecycle.models.writes import Write
from lifecycle.store import history, lives, records
from lifecycle.store.record_keys import RecordKey

ADOPT: Final = "$adopt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    """A row in a state its lifecycle does not know: nobody can say what may happen to it."""

    record_id: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one batch did; ``last`` is the key to go on after."""

    adopted: int
    dated: int
    last: Any


def count(definition: Definition, using: str) -> int:
    """How many rows in a known state have no entry."""
    return int(_waiting(definition, using).count())


def unbegun(definition: Definition, using: str, limit: int) -> tuple[int, list[str]]:
    """How many rows in an initial state have neither version nor entry, and the keys of some."""
    rows = _waiting(definition, using).filter(
        **{definition.version_field: 0, f"{definition.state_field}__in": list(definition.initial)}
    )
    total = int(rows.count())
    some = rows.order_by("pk").values_list("pk", flat=True)[:limit] if total else []
    return total, [records.text_id(pk) for pk in some]


def count_undated(definition: Definition, using: str) -> int:
    """How many of them do not say since when they are in their state."""
    return int(_waiting(definition, using).filter(**{f"{definition.changed_at_field}__isnull": True}).count())


def strangers(definition: Definition, using: str, limit: int) -> tuple[list[Stranger], int]:
    """The rows without an entry whose state is unknown (at most ``limit`` of them), and how many there are."""
    rows = _without_entry(definition, using).exclude(**{f"{definition.state_field}__in": list(definition.states)})
    found = rows.order_by("pk").values_list("pk", definition.state_field)[:limit]
    return [Stranger(record_id=records.text_id(pk), state=state) for pk, state in found], int(rows.count())


def adopt(definition: Definition, size: int, using: str, after: Any = None) -> Batch | None:
    """Adopts what waits among the next ``size`` rows in the order of their keys, in one transaction; None at the end.

    The rows are locked and asked again: one that was moved or adopted meanwhile has its entry and gets no second. The
    entry takes the row's own version (0, unless an import brought another), so that the next transition follows it.
    """
    rows = definition.model._base_manager.using(using).order_by("pk")
    walked = list(_probed(definition, rows if after is None else rows.filter(pk__gt=after), using)[:size])
    if not walked:
        return None
    pks = [row[0] for row in walked if _waits(definition, row)]
    if not pks:
        return Batch(adopted=0, dated=0, last=walked[-1][0])
    with transaction.atomic(using=using):
        _, now = records.lock_many(definition, pks, using)
        locked = _probed(definition, rows.filter(pk__in=pks), using)
        still: Sequence[Any] = [row[:3] for row in locked if _waits(definition, row)]
        history.append_many([_entry(definition, pk, state, version, now) for pk, state, version in still], using)
        dated = (
            definition.model._base_manager.using(using)
            .filter(pk__in=[pk for pk, _, _ in still], **{f"{definition.changed_at_field}__isnull": True})
            .update(
                **{
                    definition.changed_at_field: Write(
                        now, definition.model._meta.get_field(definition.changed_at_field)
                    )
                }
            )
        )
    return Batch(adopted=len(still), dated=dated, last=walked[-1][0])


def begin(definition: Definition, record: Any, key: RecordKey, now: Any) -> None:
    """Writes the first entry of a row that was just inserted directly, at the row's own version."""
    entry = _entry(definition, key.pk, records.state_of(definition, record), 0, now)
    entry.transition, entry.reason = CREATE, lives.SAVED
    history.append(entry, key.using)


def _entry(definition: Definition, pk: Any, state: str, version: int, now: Any) -> TransitionLog:
    return TransitionLog(
        lifecycle=definition.name,
        record_id=records.text_id(pk),
        transition=ADOPT,
        source=None,
        target=state,
        version=version,
        actor_kind=SYSTEM.kind,
        actor_id=SYSTEM.id,
        actor_label=SYSTEM.label,
        definition_hash=definition.hash,
        at=now,
    )


def _probed(definition: Definition, rows: models.QuerySet[Any], using: str) -> models.QuerySet[Any]:
    """Key, state, version, and an entry's id if there is one, found by a probe of the history's index for each row.

    A condition on the entries would be a join, which a planner without statistics (the table was empty when it last
    looked) answers by reading and sorting all that is left, for every batch.
    """
    entries = TransitionLog.objects.using(using).filter(
        lifecycle=definition.name, record_id=outer_record_id(definition.model, using)
    )
    probe = Subquery(entries.order_by("version").values("pk")[:1])
    found: models.QuerySet[Any] = rows.annotate(_lifecycle_entry=probe).values_list(
        "pk", definition.state_field, definition.version_field, "_lifecycle_entry"
    )
    return found


def _waits(definition: Definition, row: Sequence[Any]) -> bool:
    return row[3] is None and row[1] in definition.states


def _waiting(definition: Definition, using: str) -> models.QuerySet[Any]:
    return _without_entry(definition, using).filter(**{f"{definition.state_field}__in": list(definition.states)})


def _without_entry(definition: Definition, using: str) -> models.QuerySet[Any]:
    entries = TransitionLog.objects.using(using).filter(
        lifecycle=definition.name, record_id=outer_record_id(definition.model, using)
    )
    rows: models.QuerySet[Any] = definition.model._base_manager.using(using).exclude(Exists(entries))
    return rows
