"""Lost lease: runs whose worker is gone, and what a crash leaves behind."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.db.models import F, Max, Min

from lifecycle.models import Outcome, Run, RunAttempt, RunStatus
from lifecycle.store import pending_follow_ups
from lifecycle.store.claims.contract import ClaimedRun

Ending = RunAttempt.Ending


@dataclass(frozen=True, kw_only=True)
class Crash:
    """What a lost lease leads to: another start at ``available_at``, or (None) the run's death."""

    available_at: dt.datetime | None
    error: str
    follow_up: bool = False


def lock_expired(
    now: dt.datetime, using: str, limit: int, *, since: dt.datetime | None = None, without: Collection[int] = ()
) -> list[Run]:
    """Running runs whose lease is over, longest ago first, locked; those somebody else works on are left out.

    Must stand inside ``atomic(using)``. A run whose finish is committing this moment is locked by it, hence skipped.
    """
    rows = _expired(now, using)
    if since is not None:
        rows = rows.filter(lease_until__gte=since)
    if without:
        rows = rows.exclude(pk__in=without)
    if connections[using].features.has_select_for_update_skip_locked:
        rows = rows.select_for_update(skip_locked=True)
    return list(rows.order_by("lease_until")[:limit])


def expired_lengths(now: dt.datetime, using: str) -> tuple[dt.timedelta, dt.timedelta] | None:
    """The length of the shortest and of the longest lease among those that are over; None when none is."""
    found = _expired(now, using).aggregate(shortest=Min("lease_seconds"), longest=Max("lease_seconds"))
    if found["shortest"] is None:
        return None
    return dt.timedelta(seconds=found["shortest"]), dt.timedelta(seconds=found["longest"])


def _expired(now: dt.datetime, using: str) -> Any:
    return Run.objects.using(using).filter(status=RunStatus.RUNNING, lease_until__lt=now)


def crash(run: Run, outcome: Crash, now: dt.datetime, using: str) -> bool:
    """Takes an expired run from its lost worker: the fence and the crashes grow. False: somebody was faster."""
    rows = Run.objects.using(using).filter(pk=run.pk, fence=run.fence, status=RunStatus.RUNNING, lease_until__lt=now)
    return record_crash(rows, run, outcome, now, using)


def record_crash(rows: Any, run: Run | ClaimedRun, outcome: Crash, now: dt.datetime, using: str) -> bool:
    """Writes a crash to the run that ``rows`` names, if it is still there: its state, its counts and the attempt."""
    values: dict[str, Any] = {"status": RunStatus.QUEUED, "available_at": outcome.available_at}
    if outcome.available_at is None:
        values = {
            "status": RunStatus.DEAD,
            "outcome": Outcome.DEAD,
            "finished_at": now,
            **pending_follow_ups.first_try(outcome.follow_up, now),
        }
    taken = rows.update(
        fence=F("fence") + 1,
        crashes=F("crashes") + 1,
        first_started_at=run.first_started_at or run.started_at,
        lease_until=None,
        leased_by="",
        updated_at=now,
        error_kind="worker_lost",
        error_code="",
        error=outcome.error,
        error_details=None,
        **values,
    )
    if not taken:
        return False
    RunAttempt.objects.using(using).create(
        run_id=run.id,
        number=run.attempts + run.crashes + 1,
        ending=Ending.CRASHED,
        worker=run.leased_by,
        started_at=run.started_at,
        ended_at=now,
        error_kind="worker_lost",
        error=outcome.error,
    )
    return True
