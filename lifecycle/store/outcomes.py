"""Outcomes: every write that ends a start of a run, fenced; and the rows of the starts that did not simply succeed."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Literal

from django.db import connections
from django.db.models import F

from lifecycle.models import FollowUp, Outcome, Run, RunAttempt, RunStatus, TransitionLog
from lifecycle.store import pending_follow_ups
from lifecycle.store.claims.contract import ClaimedRun
from lifecycle.store.lost_leases import Crash, record_crash

Ending = RunAttempt.Ending


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a start did not succeed, in the words that are stored: sanitised, cut, JSON."""

    kind: str
    error: str
    code: str = ""
    details: Any = None
    traceback: str = ""
    ending: str = Ending.FAILED

    def bare(self) -> Failure:
        """The same without anything a database could refuse: a failure is recorded whatever it says."""
        return Failure(
            kind=self.kind,
            code="".join(c for c in self.code if c.isascii() and c.isprintable())[:100],
            error="The error's own text could not be stored.",
            ending=self.ending,
        )


# Fenced: id AND fence AND running; False means the lease was lost ---------------------------------


def succeed(held: ClaimedRun, result: Any, now: dt.datetime, using: str, *, follow_up: bool) -> bool:
    """Records success; with a follow-up it is pending from this moment on."""
    return _end(
        held,
        now,
        using,
        status=RunStatus.SUCCEEDED,
        outcome=Outcome.SUCCEEDED,
        attempts=F("attempts") + 1,
        result=result,
        error_kind="",
        error_code="",
        error="",
        error_details=None,
        finished_at=now,
        **pending_follow_ups.first_try(follow_up, now),
    )


def fail(
    held: ClaimedRun, failure: Failure, now: dt.datetime, using: str, *, follow_up: bool, bump: bool = False
) -> bool:
    """Records that the effect said no for good. ``bump`` takes the fence from a worker that is still inside."""
    return _end(
        held,
        now,
        using,
        bump=bump,
        status=RunStatus.FAILED,
        outcome=Outcome.FAILED,
        attempts=F("attempts") + 1,
        finished_at=now,
        **_reason(failure),
        **pending_follow_ups.first_try(follow_up, now),
    ) and _note(held, failure, now, using)


def retry(
    held: ClaimedRun,
    failure: Failure,
    available_at: dt.datetime,
    now: dt.datetime,
    using: str,
    *,
    bump: bool = False,
) -> bool:
    """Records a failed attempt that is followed by another at ``available_at``."""
    return _end(
        held,
        now,
        using,
        bump=bump,
        status=RunStatus.QUEUED,
        attempts=F("attempts") + 1,
        available_at=available_at,
        first_started_at=held.first_started_at or held.started_at,
        **_reason(failure),
    ) and _note(held, failure, now, using)


def record_gone(held: ClaimedRun, now: dt.datetime, using: str, *, follow_up: bool) -> bool:
    """Ends a run whose record was deleted: no attempt is charged, a follow-up could only be dropped."""
    text = (
        "The record is not there for this worker: it was deleted, or something hides it (row-level security, a base "
        "manager that filters). If it is there, let workers see it, then retry the run."
    )
    return _end(
        held,
        now,
        using,
        status=RunStatus.FAILED,
        outcome=Outcome.FAILED,
        error_kind="record_gone",
        error=text,
        finished_at=now,
        follow_up=FollowUp.DROPPED if follow_up else FollowUp.NONE,
        follow_up_error=text if follow_up else "",
    )


def stay_ended(held: ClaimedRun, now: dt.datetime, using: str) -> bool:
    """Ends a run whose stay is over: cancelled, the effect was not called."""
    said = "The stay that asked for this is over; the effect was not called."
    return not_wanted(held, said, now, using, kind="stay_ended")


def not_wanted(held: ClaimedRun, why: str, now: dt.datetime, using: str, *, kind: str = "not_wanted") -> bool:
    """Ends a run that nobody wants any more: cancelled, its code was not called."""
    return _end(held, now, using, status=RunStatus.CANCELLED, error_kind=kind, error=why, finished_at=now)


def interrupted(held: ClaimedRun, crash: Crash, now: dt.datetime, using: str) -> bool:
    """Records that this worker goes down in the middle of the run: a crash, known at once, not after the lease."""
    return record_crash(Run.objects.using(using).filter(**_fenced(held)), held, crash, now, using)


def _fenced(held: ClaimedRun) -> dict[str, Any]:
    return {"pk": held.id, "fence": held.fence, "status": RunStatus.RUNNING}


def _end(held: ClaimedRun, now: dt.datetime, using: str, *, bump: bool = False, **values: Any) -> bool:
    if bump:
        values["fence"] = F("fence") + 1
    rows = Run.objects.using(using).filter(**_fenced(held))
    return bool(rows.update(lease_until=None, leased_by="", updated_at=now, **values))


def _reason(failure: Failure) -> dict[str, Any]:
    return {
        "error_kind": failure.kind,
        "error_code": failure.code,
        "error": failure.error,
        "error_details": failure.details,
    }


def _note(held: ClaimedRun, failure: Failure, now: dt.datetime, using: str) -> bool:
    RunAttempt.objects.using(using).create(
        run_id=held.id,
        number=held.start,
        ending=failure.ending,
        worker=held.leased_by,
        started_at=held.started_at,
        ended_at=now,
        error_kind=failure.kind,
        error_code=failure.code,
        error=failure.error,
        traceback=failure.traceback,
    )
    return True


def hold_on(held: ClaimedRun, now: dt.datetime, using: str) -> bool:
    """Renews one lease for certain: waits for whoever has the row locked, and learns whether they took the run."""
    rows = Run.objects.using(using).filter(**_fenced(held))
    return bool(rows.update(lease_until=now + dt.timedelta(seconds=held.lease_seconds), updated_at=now))


def enter(held: ClaimedRun, now: dt.datetime, using: str) -> bool:
    """Marks that the code of a run that asks for it is entered, before it is. False: the lease was lost.

    The first mark stays: it says since when it is no longer certain that the code never ran.
    """
    rows = Run.objects.using(using).filter(**_fenced(held))
    return bool(rows.update(entered_at=held.entered_at or now, updated_at=now))


def wait_briefly(using: str) -> None:
    """Lets the transaction that begins wait for a row's lock for a moment only: for the watchdog, whom one run's lock
    must not keep from all the others. Local to the transaction on PostgreSQL: a pooler's session is not ours alone.
    """
    statement = {
        "postgresql": "SET LOCAL lock_timeout = '2s'",
        "mysql": "SET SESSION innodb_lock_wait_timeout = 2",
    }.get(connections[using].vendor)
    if statement is not None:
        with connections[using].cursor() as cursor:
            cursor.execute(statement)


# Reading ------------------------------------------------------------------------------------------


def load(run_id: int, using: str) -> Run | None:
    """The run as it is now."""
    found: Run | None = Run.objects.using(using).filter(pk=run_id).first()
    return found


def load_entry(entry_id: int, using: str) -> TransitionLog:
    """The entry that enqueued a run."""
    found: TransitionLog = TransitionLog.objects.using(using).get(pk=entry_id)
    return found


def never_ran(run: Run) -> bool:
    """Whether it is certain that no worker ever entered the run's code; False where the run asks for no mark."""
    return run.marks_entry and run.entered_at is None


def standing(held: ClaimedRun, using: str) -> Literal["held", "recorded", "lost"]:
    """After a commit whose answer never came: is the run still ours, was our outcome recorded, or is it another's?

    Only claims, sweeps and operators move the fence, so a run that is no longer running under our fence is one whose
    end we wrote ourselves.
    """
    row = Run.objects.using(using).filter(pk=held.id, fence=held.fence).values_list("status", flat=True).first()
    if row is None:
        return "lost"
    return "held" if row == RunStatus.RUNNING else "recorded"
