"""Life: a key may be used again after a delete; what the deleted record left pending never touches the new one.

The versions of a life go on after the last one of the life before, so that no number, stay or request of the two can be
taken for the other. A life begins with its creation; one that was saved without the runtime begins with its first
transition, and the entry of its creation is written then.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

from django.db.models import F

from lifecycle.actors import SYSTEM
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import RecordNotFound
from lifecycle.models import CREATE, FollowUp, Outcome, Run, RunStatus, TransitionLog, TriggerHold
from lifecycle.store import history, inserting, moving, records
from lifecycle.store.record_keys import RecordKey

GONE = "The record was deleted; another one has its key now."
SAVED = "Saved without create()."


def earlier(key: RecordKey) -> int:
    """The last version that a record of this key has had in the history; 0 when there was none."""
    latest = history.latest(key)
    return latest.version if latest is not None else 0


def begun_before(definition: Definition, rows: Iterable[Any], using: str) -> set[Any]:
    """Of locked rows, the keys of those that were saved directly under a key that had a life before; one statement."""
    unmoved = {records.text_id(row): row.pk for row in rows if records.version_of(definition, row) == 0}
    if not unmoved:
        return set()
    entries = TransitionLog.objects.using(using).filter(
        lifecycle=definition.name, record_id__in=list(unmoved), version__gt=0
    )
    return {unmoved[record_id] for record_id in entries.order_by().values_list("record_id", flat=True).distinct()}


def is_of_this_life(entry: Any) -> bool:
    """Whether an entry, found by a request id, is of the life that its record's key has now."""
    return bool(entry.version >= entry.life)


def must_be(definition: Definition, record: Any, version: int | None, using: str) -> None:
    """Holds a record, just read, to be the one that once had this version, and not another under its key.

    Raises:
        RecordNotFound: that one was deleted.
    """
    latest = records.version_of(definition, record)
    key = RecordKey.of(definition, record, using)
    creations = TransitionLog.objects.using(using).filter(
        lifecycle=key.lifecycle, record_id=key.record_id, transition=CREATE
    )
    begun = creations.order_by("-version").values_list("version", flat=True).first()
    if version is not None and (latest < version or (begun is not None and begun > version)):
        raise RecordNotFound(GONE, lifecycle=key.lifecycle, record_id=key.record_id)


def begin_saved(definition: Definition, record: Any, key: RecordKey, now: dt.datetime) -> None:
    """Begins the life of a locked row that was saved directly under a key that had a life before.

    Must stand under the record's lock, before its first transition. Does nothing for a key without a history.
    """
    before = earlier(key)
    if before == 0:
        return
    moving.renumber(definition, record, before + 1, key.using)
    entry = TransitionLog(
        lifecycle=definition.name,
        record_id=key.record_id,
        transition=CREATE,
        source=None,
        target=records.state_of(definition, record),
        version=before + 1,
        actor_kind=SYSTEM.kind,
        actor_id=SYSTEM.id,
        actor_label=str(SYSTEM.label),
        reason=SAVED,
        definition_hash=definition.hash,
        at=now,
    )
    inserting.insert(entry, key.using)
    end_earlier(key, before, now)


def end_earlier(key: RecordKey, last: int, now: dt.datetime) -> None:
    """Ends what the life up to version ``last`` left pending: runs without an attempt, follow-ups, holds.

    Must stand in the transaction in which the new life begins. A worker that is in the middle of one of the runs loses
    its lease; what it answers is discarded.
    """
    names, using = {"lifecycle": key.lifecycle, "record_id": key.record_id}, key.using
    runs = Run.objects.using(using).filter(**names, entry__version__lte=last)
    unfinished = list(
        runs.filter(status__in=[RunStatus.QUEUED, RunStatus.RUNNING]).order_by("id").values_list("id", flat=True)
    )
    waiting = list(
        runs.filter(follow_up__in=[FollowUp.PENDING, FollowUp.ABANDONED]).order_by("id").values_list("id", flat=True)
    )
    if unfinished:
        Run.objects.using(using).filter(pk__in=unfinished, status__in=[RunStatus.QUEUED, RunStatus.RUNNING]).update(
            status=RunStatus.FAILED,
            outcome=Outcome.FAILED,
            error_kind="record_gone",
            error=GONE,
            fence=F("fence") + 1,
            lease_until=None,
            leased_by="",
            finished_at=now,
            updated_at=now,
        )
    if waiting:
        Run.objects.using(using).filter(pk__in=waiting, follow_up__in=[FollowUp.PENDING, FollowUp.ABANDONED]).update(
            follow_up=FollowUp.DROPPED, follow_up_due_at=None, follow_up_error=GONE, updated_at=now
        )
    TriggerHold.objects.using(using).filter(**names, version__lte=last).delete()
