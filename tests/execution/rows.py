"""Rows: runs written as a transition would write them, for tests that look at one run at a time."""

from __future__ import annotations

import datetime as dt
from contextlib import AbstractContextManager
from typing import Any

from lifecycle import clock
from lifecycle.models import Run, TransitionLog
from lifecycle.store import claims
from lifecycle.store.claims import ClaimedRun, Wanted

USING = "default"


def an_entry(record_id: str = "none", **given: Any) -> TransitionLog:
    """An entry that enqueues runs; each its own record unless said otherwise."""
    values: dict[str, Any] = {
        "lifecycle": "parcels",
        "record_id": record_id,
        "transition": "take_back",
        "source": "packed",
        "target": "returned",
        "version": TransitionLog.objects.count() + 1,
        "actor_kind": "system",
        "actor_id": "system",
        "at": clock.now(),
    }
    return TransitionLog.objects.create(**{**values, **given})


def queue_runs(number: int, entry: TransitionLog | None = None, **given: Any) -> list[Run]:
    """So many queued runs, due one after the other, all in the past."""
    entry = entry or an_entry()
    now = clock.now()
    values: dict[str, Any] = {
        "entry": entry,
        "lifecycle": entry.lifecycle,
        "record_id": entry.record_id,
        "effect": "refund_postage",
        "lease_seconds": 60,
        "created_at": now,
        "updated_at": now,
    }
    return Run.objects.bulk_create(
        Run(**{**values, "available_at": now - dt.timedelta(seconds=number - index), **given})
        for index in range(number)
    )


def queue_run(entry: TransitionLog | None = None, **given: Any) -> Run:
    """One queued run, due."""
    return queue_runs(1, entry, **given)[0]


def claim(worker: str = "tester", queue: str = "default") -> ClaimedRun:
    """The next due run, claimed; there must be one."""
    held = claims.for_alias(USING).claim(Wanted(queue=queue, worker=worker))
    assert held is not None
    return held


def facts(run: Run | ClaimedRun) -> dict[str, Any]:
    """Every column of the run's row, to see that nothing changed."""
    found: dict[str, Any] = Run.objects.filter(pk=run.id).values().get()
    return found


def expire(run: Run | ClaimedRun) -> None:
    """Puts the end of a run's lease into the past."""
    Run.objects.filter(pk=run.id).update(lease_until=clock.now() - dt.timedelta(seconds=1))


def stopped(moment: dt.datetime) -> AbstractContextManager[None]:
    """The clock stands still at this moment."""
    return clock.replaced(lambda: moment)
