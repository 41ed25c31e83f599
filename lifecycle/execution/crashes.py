"""Crash: a worker that went down with a run in its hands; the run starts again, a few times at most."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from django.db import transaction

from lifecycle import clock, conf
from lifecycle.execution import connecting, kinds
from lifecycle.execution.start import Start
from lifecycle.models import Run, RunStatus
from lifecycle.store import lost_leases, outcomes, timing
from lifecycle.store.claims import ClaimedRun
from lifecycle.store.lost_leases import Crash

_LONGEST = dt.timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class TakenBack:
    """What one pass found: runs queued again, runs that are dead now, and whether more may be waiting.

    Attributes:
        failed: runs that could not be taken back, and why.
        last: when the lease of the last run looked at ended.
        waited: nothing was taken, for the rows were locked away for so long.
    """

    queued: int = 0
    dead: int = 0
    more: bool = False
    failed: Mapping[int, Exception] = field(default_factory=dict)
    last: dt.datetime | None = None
    waited: dt.timedelta | None = None


def take_back(
    using: str,
    limit: int = 200,
    *,
    since: dt.datetime | None = None,
    without: Collection[int] = (),
    patience: dt.timedelta = dt.timedelta.max,
) -> TakenBack:
    """Takes runs whose lease is over from their lost workers, in one transaction; acts only on what its UPDATE got.

    Safe to run twice and in parallel. ``on_dead`` is left as a pending follow-up; the sweep over those fires it.

    Args:
        using: the database.
        limit: so many runs at most.
        since: only leases that ended then or later.
        without: runs that are left out.
        patience: when the rows do not come within so long, nobody could renew either, and nothing is taken.
    """
    ends: list[RunStatus | None] = []
    failed: dict[int, Exception] = {}
    with transaction.atomic(using=using):
        asked_at = clock.monotonic()
        now = timing.now(using)
        expired = lost_leases.lock_expired(now, using, limit, since=since, without=without)
        waited = dt.timedelta(seconds=clock.monotonic() - asked_at)
        if waited > patience:
            return TakenBack(waited=waited)
        for run in expired:
            try:
                with transaction.atomic(using=using):
                    ends.append(_take_back(run, now, using))
            except connecting.BROKEN:
                raise  # no row's fault: the next pass does all of it
            except Exception as error:  # noqa: BLE001 one row must not keep the others with their lost workers
                failed[run.pk] = error
    return TakenBack(
        queued=ends.count(RunStatus.QUEUED),
        dead=ends.count(RunStatus.DEAD),
        more=len(expired) == limit,
        failed=failed,
        last=expired[-1].lease_until if expired else None,
    )


def _take_back(run: Run, now: dt.datetime, using: str) -> RunStatus | None:
    """Takes one locked run back; answers what it is now, or None when somebody else was faster."""
    crash = _crash(run, now)
    if not lost_leases.crash(run, crash, now, using):
        return None
    if crash.available_at is not None:
        return RunStatus.QUEUED
    _after_death(run, now, using)
    return RunStatus.DEAD


def give_back(start: Start) -> None:
    """The same by the worker itself, when its process is told to end in the middle of an effect."""
    using = start.using
    with transaction.atomic(using=using):
        now = timing.now(using)
        crash = _crash(start.held, now)
        if outcomes.interrupted(start.held, crash, now, using) and crash.available_at is None:
            _after_death(start.held, now, using)


def _crash(run: Run | ClaimedRun, now: dt.datetime) -> Crash:
    crashes = run.crashes + 1
    text = f"The worker {run.leased_by or '(unknown)'} was lost in start {run.attempts + crashes}."
    if crashes < run.max_crashes:
        pause = min(conf.options().crash_backoff * 2 ** min(crashes - 1, 20), _LONGEST)
        return Crash(available_at=now + pause, error=text)
    kind = kinds.find(run.kind)
    # A process that does not know the kind leaves the question to one that does.
    return Crash(available_at=None, error=text, follow_up=kind is None or kind.is_followed(run))


def _after_death(run: Run | ClaimedRun, now: dt.datetime, using: str) -> None:
    kind = kinds.find(run.kind)
    if kind is not None:
        kind.died(run, now, using)
