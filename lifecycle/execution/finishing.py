"""Finishing: an outcome is recorded first, once, under the fence; then what follows from it is tried."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import replace

from django.db import DatabaseError, connections, transaction

from lifecycle.exceptions import LeaseLost
from lifecycle.execution import connecting, points
from lifecycle.execution.failures import Verdict
from lifecycle.execution.start import Start
from lifecycle.runtime.writing import retrying
from lifecycle.store import outcomes, timing, waiting
from lifecycle.store.claims import ClaimedRun
from lifecycle.store.transactions import Commit

log = logging.getLogger("lifecycle.execution")


def failed(start: Start, verdict: Verdict) -> None:
    """Records a failed attempt: queued again, or failed for good and what follows from that.

    Recording never fails for what the error says: at worst its text is left out.
    """
    try:
        _failed(start, verdict)
    except LeaseLost:
        raise
    except (DatabaseError, ValueError, TypeError) as error:
        # A broken connection or a lost race says nothing about the text: the caller tries again, with it.
        if (
            retrying.lost_a_race(error)
            or waiting.in_vain(error)
            or not connections[start.using].is_usable()
            or not still_ours(start)
        ):
            raise
        log.warning("%s: its failure is recorded without its text: %s", start.held, error)
        _failed(start, replace(verdict, failure=verdict.failure.bare()))


def _failed(start: Start, verdict: Verdict) -> None:
    using = start.using
    if not _is_tried_again(verdict, using):
        start.work.failed(start, verdict.failure)
        return
    with transaction.atomic(using=using):
        now = timing.now(using)
        again = verdict.due(now) or now
        if not outcomes.retry(start.held, verdict.failure, again, now, using):
            raise lost(start.held)
        points.reach("after_finish_before_commit")
    points.reach("after_commit")


def _is_tried_again(verdict: Verdict, using: str) -> bool:
    if verdict.again_after is None and verdict.again_at is None:
        return False
    return verdict.until is None or verdict.due(timing.now(using)) is not None


def timed_out(start: Start, verdict: Verdict) -> None:
    """Fails an attempt whose code does not come back, from another thread; its worker loses the fence.

    The code may go on, for nobody can interrupt it: another attempt waits as long as for a lost worker. What follows is
    left to the tick: hooks of the project's must not run, and perhaps hang, in the watchdog.
    """
    using, failure = start.using, verdict.failure
    with transaction.atomic(using=using):
        outcomes.wait_briefly(using)
        now = timing.now(using)
        again = verdict.due(now)
        if again is None:
            start.work.timed_out(start, failure, now)
            return
        again = max(again, now + dt.timedelta(seconds=start.held.lease_seconds))
        outcomes.retry(start.held, failure, again, now, using, bump=True)


def lost(held: ClaimedRun) -> LeaseLost:
    """The error that the lease was lost."""
    return LeaseLost(f"The lease of {held} was lost; its outcome is discarded.", run_id=held.id)


def record(start: Start, write: Callable[[BaseException | None], None], *, has_more: bool) -> None:
    """Writes an outcome and what follows in one transaction; if that cannot be, the outcome alone.

    Args:
        write: writes all of it inside the transaction; given an error, writes the outcome and, instead of what follows,
            why that could not be committed.
        has_more: whether anything follows at all.
    """
    commit: Commit[None] = Commit(start.using)

    def work() -> None:
        write(None)
        points.reach("after_finish_before_commit")

    try:
        try:
            commit.of(work)
        except (*connecting.BROKEN, *connecting.SUSPECT) as error:
            # The connection may have been dead before, or its session no good: once more on another.
            if isinstance(error, connecting.SUSPECT) and not connections[start.using].in_atomic_block:
                connecting.discard(start.using)
            if waiting.in_vain(error) or not still_ours(start):
                raise
            commit.of(work)
    except LeaseLost:
        raise
    except BaseException as error:
        if commit.happened and isinstance(error, Exception):
            callback_failed(start, error)
            return
        if not has_more or not still_ours(start):
            raise
        log.warning("%s: the follow-up's transaction failed; its outcome is recorded alone: %r", start.held, error)
        with transaction.atomic(using=start.using):
            write(error)
        if not isinstance(error, Exception):
            raise
    points.reach("after_commit")


def callback_failed(start: Start, error: BaseException) -> None:
    """Tells of an error that came after the commit: the outcome stands, and nothing is done again for it."""
    log.error("%s is recorded; a callback after the commit failed.", start.held, exc_info=error)


def still_ours(start: Start) -> bool:
    """After a transaction that failed: whether the outcome is still to be recorded, and by us.

    Raises:
        LeaseLost: it is another's by now.
    """
    connecting.mend(start.using)
    standing = outcomes.standing(start.held, start.using)
    if standing == "lost":
        raise lost(start.held)
    return standing == "held"
