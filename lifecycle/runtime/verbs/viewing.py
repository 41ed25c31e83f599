"""Viewing: one picture of a record for a page."""

from __future__ import annotations

from typing import Any

from django.db import router

from lifecycle import registry
from lifecycle.definition.contexts import Record
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime.results import RecordView
from lifecycle.runtime.verbs.asking import available
from lifecycle.store import records


def view(record: Record, *, actor: Any, lifecycle: Any = None, history: int = 50, runs: int = 50) -> RecordView[Record]:
    """The record re-read, what can be done, the latest entries and runs (newest first).

    One snapshot: entries and runs that came after the record was read are left out, so the parts never contradict each
    other. Three queries, however long the history.

    Args:
        actor: for whom ``available`` is asked.
        history: how many entries at most.
        runs: how many runs at most.
    """
    definition = registry.of(lifecycle if lifecycle is not None else record)
    subject: Any = record
    using = subject._state.db or router.db_for_read(type(subject), instance=subject)
    fresh = records.read(definition, records.text_id(subject), using)
    version = records.version_of(definition, fresh)
    record_id = records.text_id(fresh)
    entries = TransitionLog.objects.using(using).of_life(definition.name, record_id).filter(version__lte=version)
    enqueued = (
        Run.objects.using(using)
        .of_life(definition.name, record_id)
        .filter(entry__version__lte=version)
        .select_related("entry")
    )
    return RecordView(
        record=fresh,
        state=records.state_of(definition, fresh),
        version=version,
        available=available(fresh, actor=actor, lifecycle=definition),
        history=list(entries.order_by("-version")[:history]),
        runs=list(enqueued.order_by("-id")[:runs]),
    )
