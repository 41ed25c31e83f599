"""Attempt: one start of one run, from claimed to reported."""

from __future__ import annotations

import datetime as dt
import logging
import random
from collections.abc import Callable
from typing import Any

from django.db import connections, transaction

from lifecycle import registry, tracing
from lifecycle.exceptions import LeaseLost, RecordNotFound
from lifecycle.execution import connecting, crashes, failures, finishing, interference, points, watchdog
from lifecycle.execution.alarms import Alarm, TimedOut
from lifecycle.execution.context import EffectContext
from lifecycle.execution.finishing import Start
from lifecycle.execution.watchdog import Watch
from lifecycle.store import claims, outcomes, records
from lifecycle.store.claims import ClaimedRun, Wanted

log = logging.getLogger("lifecycle.execution")

# A run this process knows no effect for comes back this much later; another process may know it by then.
UNKNOWN_PAUSE = dt.timedelta(seconds=30)
# So long a worker holds on to an outcome the database does not take; afterwards the lease's end decides.
OUTAGE = 60.0

Next = Callable[[], Wanted | None]


def perform(held: ClaimedRun, using: str, following: Next) -> ClaimedRun | None:
    """Does one claimed run and reports what came of it.

    Args:
        held: the claim.
        using: its database.
        following: asked right before the finish which run would be taken next (None: no more).

    Returns:
        The next run, if it was claimed together with the finish.

    Raises:
        LeaseLost: somebody took the run; nothing was written and nothing called since.
    """
    start = _known(held, using)
    if start is None:
        _put_back(held, using)
        return None
    try:
        record = records.read(start.definition, held.record_id, using)
    except RecordNotFound:
        finishing.record_gone(start)
        return None
    if held.reminder and not finishing.stay_lasts(start, record):
        finishing.stay_ended(start)
        return None
    with tracing.effect(held):
        if start.effect.atomic:
            _perform_atomically(start)
            return None
        return _perform(start, record, following)


def _perform(start: Start, record: Any, following: Next) -> ClaimedRun | None:
    try:
        result = failures.checked_result(_call(start, record))
    except (KeyboardInterrupt, SystemExit):
        _go_down(start)
        raise
    except LeaseLost as error:
        if error.run_id == start.held.id:
            raise
        _report_failure(start, error)
    except BaseException as error:  # noqa: BLE001 an effect may raise anything; all of it is recorded
        _report_failure(start, error)
    else:
        connecting.refresh(start.using)
        points.reach("before_finish")
        return _report(start, lambda: finishing.succeeded(start, result, following()))
    return None


def _perform_atomically(start: Start) -> None:
    """The effect's writes, its outcome and what follows from it: one transaction, hence exactly once."""
    held, using = start.held, start.using
    try:
        with transaction.atomic(using=using):
            record, _ = records.lock(start.definition, records.parse_id(start.definition, held.record_id), using)
            result = failures.checked_result(_call(start, record))
            points.reach("before_finish")
            finishing.succeeded_atomically(start, result)
            points.reach("after_finish_before_commit")
    except RecordNotFound as error:
        if error.lifecycle == held.lifecycle and error.record_id == held.record_id:
            finishing.record_gone(start)
        else:
            _report_failure(start, error)
    except (KeyboardInterrupt, SystemExit):
        _go_down(start)
        raise
    except LeaseLost as error:
        if error.run_id == held.id:
            raise
        _report_failure(start, error)
    except BaseException as error:  # noqa: BLE001 an effect may raise anything; all of it is recorded
        connecting.mend(using)
        # The answer to the commit may be what was lost; then the rows say that it happened, and that is the outcome.
        if not isinstance(error, connecting.BROKEN) or _standing(start) == "held":
            _report_failure(start, error)
    else:
        points.reach("after_commit")


def _call(start: Start, record: Any) -> Any:
    """Calls the effect, watched; the alarm is off when this returns or raises."""
    held, effect, using = start.held, start.effect, start.using
    seconds = effect.timeout.total_seconds()
    alarm = Alarm(seconds, first=connecting.cancel_statements)
    watch = _watch(start, seconds, interruptible=alarm.usable)
    ctx = EffectContext(held, start.definition, record, effect.timeout, using, watch)
    points.reach("in_effect")
    with watchdog.watching(watch):
        try:
            with alarm:
                if interference.before is not None:
                    interference.before(start.definition, effect, ctx)
                return effect.call(ctx)
        except BaseException as error:
            if alarm.rang and not isinstance(error, (KeyboardInterrupt, SystemExit, TimedOut)):
                # Unwinding an interrupted statement often ends in another error; the time was up all the same.
                raise TimedOut from error
            raise


def _watch(start: Start, seconds: float, *, interruptible: bool) -> Watch | None:
    if connections[start.using].in_atomic_block and not start.effect.atomic:
        return None  # a test's transaction: no other connection sees these rows
    if start.effect.atomic and len(connections[start.using].savepoint_ids) > 0:
        return None

    def expire() -> None:
        finishing.timed_out(start, failures.judge(TimedOut(), start.held, start.effect))

    return Watch(start.held, start.using, seconds, expire, interruptible=interruptible)


def _report(start: Start, write: Callable[[], ClaimedRun | None]) -> ClaimedRun | None:
    """Writes an outcome, through an outage if need be."""
    nothing: tuple[ClaimedRun | None] = (None,)

    def recover() -> tuple[ClaimedRun | None] | None:
        standing = outcomes.standing(start.held, start.using)
        if standing == "lost":
            raise finishing.lost(start.held)
        return nothing if standing == "recorded" else None

    [following] = connecting.until_answered(lambda: (write(),), recover, start.using, OUTAGE)
    return following


def _report_failure(start: Start, error: BaseException) -> None:
    tracing.failed(error)
    if isinstance(error, TimedOut):
        connecting.discard_interrupted()
    else:
        connecting.refresh(start.using)
    verdict = failures.judge(error, start.held, start.effect)
    points.reach("before_finish")

    def write() -> None:
        finishing.failed(start, verdict)

    _report(start, write)


def _standing(start: Start) -> str:
    return connecting.until_answered(
        lambda: outcomes.standing(start.held, start.using), lambda: None, start.using, OUTAGE
    )


def _go_down(start: Start) -> None:
    """The process is told to end in the middle of an effect: a crash, but one that is known at once."""
    connecting.discard_interrupted()
    try:
        crashes.give_back(start)
    except Exception:
        log.warning("%s could not be given back; its lease will end.", start.held, exc_info=True)


def _known(held: ClaimedRun, using: str) -> Start | None:
    definition = registry.find(held.lifecycle)
    effect = definition.effects.get(held.effect) if definition is not None else None
    if definition is None or effect is None:
        return None
    return Start(held=held, definition=definition, effect=effect, using=using)


def _put_back(held: ClaimedRun, using: str) -> None:
    log.warning("%s: this process does not know the effect; the run is put back for another.", held)
    jitter = random.uniform(0.8, 1.2)  # noqa: S311 no secret
    claims.for_alias(using).release(held, UNKNOWN_PAUSE * jitter)
