"""Entries: appended with the move they record, found again by request id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import connections
from django.db.models import QuerySet

from lifecycle.models import CREATE, TransitionLog
from lifecycle.store import inserting
from lifecycle.store.record_keys import RecordKey


def append(entry: TransitionLog, using: str) -> TransitionLog:
    """Writes one entry. Must stand in the transaction of the move it records, after it."""
    inserting.insert(entry, using)
    return entry


def append_many(entries: Sequence[TransitionLog], using: str) -> list[TransitionLog]:
    """Writes the entries of a batch; they come back with their ids."""
    return inserting.insert_many(entries, using)


def find_request(key: RecordKey, request_id: str) -> TransitionLog | None:
    """The entry a request id was spent on for this record, and when its ``life`` began. Ask under the record's lock."""
    return _spent_on(request_id, {"lifecycle": key.lifecycle, "record_id": key.record_id}, key.using)


def find_creation(lifecycle: str, request_id: str, using: str) -> TransitionLog | None:
    """The entry of the record that a request id created, and when its key's ``life`` began."""
    return _spent_on(request_id, {"lifecycle": lifecycle, "transition": CREATE}, using)


# Asked by every firing with a request id, nearly always in vain: the ORM takes four times as long to make this text.
_SPENT_ON = """\
SELECT entry.*, COALESCE((
    SELECT MAX(creation.version) FROM {table} creation
    WHERE creation.lifecycle = entry.lifecycle AND creation.record_id = entry.record_id AND creation.transition = %s
), 0) AS life FROM {table} entry WHERE {asked} AND entry.request_id = %s"""


def _spent_on(request_id: str, of_entry: Mapping[str, str], using: str) -> TransitionLog | None:
    table = connections[using].ops.quote_name(TransitionLog._meta.db_table)
    text = _SPENT_ON.format(table=table, asked=" AND ".join(f"entry.{name} = %s" for name in of_entry))
    entries = TransitionLog.objects.using(using).raw(text, [CREATE, *of_entry.values(), request_id])
    # Whatever the database's collation takes for the same text: a request id is meant to the letter.
    return next((entry for entry in entries if entry.request_id == request_id), None)


def latest(key: RecordKey) -> TransitionLog | None:
    """The record's newest entry, or None (adopted without one)."""
    found: TransitionLog | None = _of(key).order_by("-version").first()
    return found


def _of(key: RecordKey) -> QuerySet[TransitionLog]:
    entries: QuerySet[TransitionLog] = TransitionLog.objects.using(key.using)
    return entries.filter(lifecycle=key.lifecycle, record_id=key.record_id)


def has_moved_on(entry: TransitionLog, using: str) -> bool:
    """Whether a later entry of its record has ended the stay that this one began."""
    return bool(
        TransitionLog.objects.using(using).ending_a_stay(entry.lifecycle, entry.record_id, entry.version).exists()
    )


def stay_lasts(key: RecordKey, stay_version: int) -> bool:
    """Whether the entry of this version is there and no later one has ended the stay that it began."""
    entries = TransitionLog.objects.using(key.using)
    began = _of(key).filter(version=stay_version)
    return began.exists() and not entries.ending_a_stay(key.lifecycle, key.record_id, stay_version).exists()
