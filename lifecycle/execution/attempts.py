"""Attempt: one start of one run, from claimed to reported."""

from __future__ import annotations

import datetime as dt
import logging
import random
from collections.abc import Callable
from typing import Any

from django.db import connections

from lifecycle import clock, tracing
from lifecycle.exceptions import LeaseLost, RecordNotFound
from lifecycle.execution import (
    connecting,
    control,
    crashes,
    failures,
    finishing,
    isolation,
    kinds,
    points,
    silence,
    watchdog,
)
from lifecycle.execution.alarms import Alarm
from lifecycle.execution.limits import Limits, TimedOut
from lifecycle.execution.start import Start
from lifecycle.execution.watchdog import Watch
from lifecycle.store import claims, outcomes, timing, transactions
from lifecycle.store.claims import ClaimedRun, Wanted
from lifecycle.store.transactions import Commit

log = logging.getLogger("lifecycle.execution")

# A run this process knows no effect for comes back this much later; another process may know it by then.
UNKNOWN_PAUSE = dt.timedelta(seconds=30)
# So long a worker holds on to an outcome the database does not take; afterwards the lease's end decides.
OUTAGE = 600.0

Next = Callable[[], Wanted | None]


def perform(
    held: ClaimedRun,
    using: str,
    following: Next,
    watch: Watch | None = None,
    stopping: Callable[[], bool] = connecting.never,
) -> ClaimedRun | None:
    """Does one claimed run and reports what came of it.

    Args:
        held: the claim.
        using: its database.
        following: asked right before the finish which run would be taken next (None: no more).
        watch: what keeps its lease since the claim; without one it is kept from here on.
        stopping: whether the worker was told to end.

    Returns:
        The next run, if it was claimed together with the finish.

    Raises:
        LeaseLost: somebody took the run; nothing was written and nothing called since.
    """
    if watch is None:
        with watchdog.holding(held, using) as watch:
            return perform(held, using, following, watch, stopping)
    start = _known(held, using, stopping)
    if start is None:
        _put_back(held, using, "this process does not know it")
        return None
    for last in (False, True):
        try:
            return _begin(start, following, watch)
        except connecting.BROKEN as error:
            if watch.entered or connections[using].in_atomic_block:
                raise
            connecting.discard(using)  # it may have been dead since the claim: once more on another
            if last:
                _put_back(held, using, f"the database did not let it begin ({error})")
    return None


def _begin(start: Start, following: Next, watch: Watch) -> ClaimedRun | None:
    held, using = start.held, start.using
    ready = start.work.prepare(start)
    if ready.instead is not None:
        _settle(start, ready.instead)
        return None
    if held.marks_entry and not outcomes.enter(held, timing.now(using), using):
        raise finishing.lost(held)
    with tracing.effect(held):
        if start.options.atomic:
            _perform_atomically(start, watch)
            return None
        return _perform(start, ready.subject, following, watch)


def _perform(start: Start, subject: Any, following: Next, watch: Watch) -> ClaimedRun | None:
    try:
        result = start.work.checked(_call(start, subject, watch))
    except BaseException as error:
        if _ends_process(error, start) or _is_passed_on(error, start, watch):
            raise
        if not _given_back(error, start):
            _report_failure(start, error)
    else:
        connecting.refresh(start.using)
        points.reach("before_finish")
        return _report(start, lambda: start.work.succeeded(start, result, following()))
    return None


def _perform_atomically(start: Start, watch: Watch) -> None:
    """The effect's writes, its outcome and what follows from it: one transaction, hence exactly once."""
    held, using = start.held, start.using
    if connections[using].vendor == "sqlite":
        watch.not_to_be_renewed()
    commit: Commit[None] = Commit(using)

    def work() -> None:
        result = start.work.checked(_call(start, start.work.lock(start), watch))
        transactions.must_stand(using, f"The code of {held}")
        points.reach("before_finish")
        start.work.succeeded_atomically(start, result)
        points.reach("after_finish_before_commit")

    try:
        commit.of(work)
    except RecordNotFound as error:
        if commit.happened:
            finishing.callback_failed(start, error)
        elif error.lifecycle == held.lifecycle and error.record_id == held.record_id:
            _settle(start, lambda: start.work.gone(start))
        else:
            _report_failure(start, error)
    except BaseException as error:
        if _ends_process(error, start):
            raise
        if commit.happened:
            finishing.callback_failed(start, error)
            return
        if _is_passed_on(error, start, watch):
            raise
        _taken_back(start, error)
    else:
        points.reach("after_commit")


def _is_passed_on(error: BaseException, start: Start, watch: Watch) -> bool:
    """Whether there is nothing to report: the run is another's, or the database failed before the code was entered."""
    if isinstance(error, LeaseLost):
        return bool(error.run_id == start.held.id)
    return isinstance(error, connecting.BROKEN) and not watch.entered


def _call(start: Start, subject: Any, watch: Watch) -> Any:
    """Calls the run's code, watched; the alarm is off when this returns or raises."""
    _must_hold(start, watch)
    limits = Limits(start.options.timeout, start.options.heartbeat_timeout)
    alarm = Alarm(limits, first=connecting.cancel_statements)
    points.reach("in_effect")

    def expire() -> None:
        finishing.timed_out(start, failures.judge(limits.exceeded(), start.held, start.options))

    with watchdog.timing(watch, limits, expire, interruptible=alarm.usable), isolation.call():
        try:
            with alarm:
                return _enter(start, subject, watch, limits)
        except BaseException as error:
            if alarm.rang and not isinstance(error, (KeyboardInterrupt, SystemExit, TimedOut)):
                # Unwinding an interrupted statement often ends in another error; the time was up all the same.
                raise limits.exceeded() from error
            raise


@silence.calls_an_effect
def _enter(start: Start, subject: Any, watch: Watch, limits: Limits) -> Any:
    return start.work.call(start, subject, watch, limits)


def _must_hold(start: Start, watch: Watch) -> None:
    """Nothing is called under a lease that may be over: one that was not renewed in time is renewed, or was lost."""
    if watch.over:
        at = clock.monotonic()
        if not outcomes.hold_on(start.held, timing.now(start.using), start.using):
            raise finishing.lost(start.held)
        watch.renewed(at)


def _taken_back(start: Start, error: BaseException) -> None:
    connecting.mend(start.using)
    if _given_back(error, start):
        return
    # The answer to the commit may be what was lost; then the rows say that it happened, and that is the outcome.
    if not isinstance(error, connecting.BROKEN) or _standing(start) == "held":
        _report_failure(start, error)


def _ends_process(error: BaseException, start: Start) -> bool:
    """Whether the process is to end; the run is then given back, charged with a crash that is known at once."""
    if isinstance(error, Exception) or not isolation.told_to_end(error, start.stopping):
        return False
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        _go_down(start)
        return True
    return False


def _given_back(error: BaseException, start: Start) -> bool:
    """Whether the error is the worker's own time limit rather than the effect's: then the run is nobody's fault."""
    if not control.is_workers_limit(error):
        return False
    log.warning("%s: the worker's own time limit interrupted it; it is given back.", start.held)
    connecting.discard_interrupted()
    claims.for_alias(start.using).release(start.held)
    return True


def _report(start: Start, write: Callable[[], ClaimedRun | None]) -> ClaimedRun | None:
    """Writes an outcome, through an outage if need be."""
    nothing: tuple[ClaimedRun | None] = (None,)

    def recover() -> tuple[ClaimedRun | None] | None:
        standing = outcomes.standing(start.held, start.using)
        if standing == "lost":
            raise finishing.lost(start.held)
        return nothing if standing == "recorded" else None

    [following] = connecting.until_answered(lambda: (write(),), recover, start.using, OUTAGE, start.stopping)
    return following


def _report_failure(start: Start, error: BaseException) -> None:
    tracing.failed(error)
    if isinstance(error, TimedOut):
        connecting.discard_interrupted()
    else:
        connecting.refresh(start.using)
    verdict = failures.judge(error, start.held, start.options)
    points.reach("before_finish")
    _settle(start, lambda: finishing.failed(start, verdict))
    start.work.attempt_failed(start, verdict, error)


def _settle(start: Start, write: Callable[[], None]) -> None:
    """Writes an outcome with which no run is claimed."""
    _report(start, write)


def _standing(start: Start) -> str:
    return connecting.until_answered(
        lambda: outcomes.standing(start.held, start.using), lambda: None, start.using, OUTAGE, start.stopping
    )


def _go_down(start: Start) -> None:
    """The process is told to end in the middle of an effect: a crash, but one that is known at once."""
    connecting.discard_interrupted()
    try:
        crashes.give_back(start)
    except Exception:
        log.warning("%s could not be given back; its lease will end.", start.held, exc_info=True)


def _known(held: ClaimedRun, using: str, stopping: Callable[[], bool]) -> Start | None:
    kind = kinds.find(held.kind)
    work = kind.work(held) if kind is not None else None
    return Start(held=held, work=work, using=using, stopping=stopping) if work is not None else None


def _put_back(held: ClaimedRun, using: str, why: str) -> None:
    """Gives back a run whose code was not entered: no attempt and no crash is charged."""
    log.warning("%s: %s; the run is put back for another.", held, why)
    jitter = random.uniform(0.8, 1.2)  # noqa: S311 no secret
    claims.for_alias(using).release(held, UNKNOWN_PAUSE * jitter)
