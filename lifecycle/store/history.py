"""Entries: appended with the move they record, found again by request id."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import OuterRef, QuerySet

from lifecycle.models import CREATE, TransitionLog
from lifecycle.models.history import life_begins
from lifecycle.store import inserting


def append(entry: TransitionLog, using: str) -> TransitionLog:
    """Writes one entry. Must stand in the transaction of the move it records, after it."""
    inserting.insert(entry, using)
    return entry


def append_many(entries: Sequence[TransitionLog], using: str) -> list[TransitionLog]:
    """Writes the entries of a batch; they come back with their ids."""
    return inserting.insert_many(entries, using)


def find_request(lifecycle: str, record_id: str, request_id: str, using: str) -> TransitionLog | None:
    """The entry a request id was spent on for this record, and when its ``life`` began. Ask under the record's lock."""
    entries = TransitionLog.objects.using(using).filter(lifecycle=lifecycle, record_id=record_id, request_id=request_id)
    life = life_begins(lifecycle, record_id, using)
    return _spent_on(entries.annotate(life=life), request_id)


def find_creation(lifecycle: str, request_id: str, using: str) -> TransitionLog | None:
    """The entry of the record that a request id created, and when its key's ``life`` began."""
    entries = TransitionLog.objects.using(using).filter(lifecycle=lifecycle, request_id=request_id, transition=CREATE)
    life = life_begins(lifecycle, OuterRef("record_id"), using)
    return _spent_on(entries.annotate(life=life), request_id)


def _spent_on(entries: QuerySet[TransitionLog], request_id: str) -> TransitionLog | None:
    # Whatever the database's collation takes for the same text: a request id is meant to the letter.
    return next((entry for entry in entries.order_by() if entry.request_id == request_id), None)


def latest(lifecycle: str, record_id: str, using: str) -> TransitionLog | None:
    """The record's newest entry, or None (adopted without one)."""
    entries = TransitionLog.objects.using(using).filter(lifecycle=lifecycle, record_id=record_id)
    found: TransitionLog | None = entries.order_by("-version").first()
    return found


def has_moved_on(entry: TransitionLog, using: str) -> bool:
    """Whether a later entry of its record has ended the stay that this one began."""
    return bool(
        TransitionLog.objects.using(using).ending_a_stay(entry.lifecycle, entry.record_id, entry.version).exists()
    )


def stay_lasts(lifecycle: str, record_id: str, stay_version: int, using: str) -> bool:
    """Whether the entry of this version is there and no later one has ended the stay that it began."""
    entries = TransitionLog.objects.using(using)
    began = entries.filter(lifecycle=lifecycle, record_id=record_id, version=stay_version)
    return began.exists() and not entries.ending_a_stay(lifecycle, record_id, stay_version).exists()
