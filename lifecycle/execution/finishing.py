"""Finishing: an outcome is recorded first, once, under the fence; then what follows from it is tried."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.db import DatabaseError, connections, transaction

from lifecycle.exceptions import LeaseLost, RecordNotFound
from lifecycle.execution import connecting, follow_ups, points
from lifecycle.execution.announcing import announce
from lifecycle.execution.failures import Verdict
from lifecycle.execution.reminders import next_reminder
from lifecycle.execution.start import Start
from lifecycle.models import Outcome
from lifecycle.runtime.writing import retrying
from lifecycle.store import claims, effect_runs, outcomes, pending_follow_ups, records, timing, waiting
from lifecycle.store.claims import ClaimedRun, Wanted
from lifecycle.store.transactions import Commit

log = logging.getLogger("lifecycle.execution")

# So many seconds an outcome waits for the record's lock; then it is recorded alone, and the follow-up comes later.
LOCK_WAIT = 10.0


def succeeded(start: Start, result: Any, wanted: Wanted | None) -> ClaimedRun | None:
    """Records success; where nothing follows, the next run is claimed in the same statement.

    Raises:
        LeaseLost: the run is another's by now; nothing was written.
    """
    if start.effect.on_success is None and start.reminder is None:
        finished, following = claims.for_alias(start.using).finish_and_claim(start.held, result, wanted)
        if finished:
            points.reach("after_commit")
            announce(start.held, start.definition, start.using)
        else:
            log.info("%s: the lease was lost, its outcome is discarded.", start.held)
        return following

    def write(now: dt.datetime, follow_up: bool) -> bool:
        return outcomes.succeed(start.held, result, now, start.using, follow_up=follow_up)

    given = follow_ups.input_after(Outcome.SUCCEEDED, result=result, error="", code="", details=None)
    _record(start, Outcome.SUCCEEDED, write, given)
    return None


def succeeded_atomically(start: Start, result: Any) -> None:
    """The same inside the effect's own transaction; the caller commits both, or neither."""

    def write(now: dt.datetime, follow_up: bool) -> bool:
        return outcomes.succeed(start.held, result, now, start.using, follow_up=follow_up)

    given = follow_ups.input_after(Outcome.SUCCEEDED, result=result, error="", code="", details=None)
    _in_transaction(start, Outcome.SUCCEEDED, write, given)


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
            or not _still_ours(start)
        ):
            raise
        log.warning("%s: its failure is recorded without its text: %s", start.held, error)
        _failed(start, replace(verdict, failure=verdict.failure.bare()))


def _failed(start: Start, verdict: Verdict) -> None:
    failure, using = verdict.failure, start.using
    if _is_tried_again(verdict, using):
        with transaction.atomic(using=using):
            now = timing.now(using)
            again = verdict.due(now) or now
            if not outcomes.retry(start.held, failure, again, now, using):
                raise lost(start.held)
            points.reach("after_finish_before_commit")
        points.reach("after_commit")
        return

    def write(now: dt.datetime, follow_up: bool) -> bool:
        return outcomes.fail(start.held, failure, now, using, follow_up=follow_up)

    given = follow_ups.input_after(
        Outcome.FAILED, result=None, error=failure.error, code=failure.code, details=failure.details
    )
    _record(start, Outcome.FAILED, write, given)


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
        if again is not None:
            again = max(again, now + dt.timedelta(seconds=start.held.lease_seconds))
            outcomes.retry(start.held, failure, again, now, using, bump=True)
            return
        followed_up = start.effect.on_failure is not None
        if outcomes.fail(start.held, failure, now, using, follow_up=followed_up, bump=True):
            _remind_again(start, now)
            announce(start.held, start.definition, using)


def record_gone(start: Start) -> None:
    """Ends a run whose record was deleted, without an attempt."""
    with transaction.atomic(using=start.using):
        followed_up = start.effect.on_failure is not None
        if not outcomes.record_gone(start.held, timing.now(start.using), start.using, follow_up=followed_up):
            raise lost(start.held)
        announce(start.held, start.definition, start.using)


def stay_ended(start: Start) -> None:
    """Ends a run that was to be called during its stay only, without an attempt."""
    if not outcomes.stay_ended(start.held, timing.now(start.using), start.using):
        raise lost(start.held)


def lost(held: ClaimedRun) -> LeaseLost:
    """The error that the lease was lost."""
    return LeaseLost(f"The lease of {held} was lost; its outcome is discarded.", run_id=held.id)


def _record(start: Start, outcome: Outcome, write: Callable[[dt.datetime, bool], bool], given: Any) -> None:
    """Outcome and follow-up in one transaction; if that cannot be, the outcome alone, the follow-up pending."""

    commit: Commit[None] = Commit(start.using)

    def work() -> None:
        _in_transaction(start, outcome, write, given)
        points.reach("after_finish_before_commit")

    def together() -> None:
        commit.of(work)

    try:
        try:
            together()
        except (*connecting.BROKEN, *connecting.SUSPECT) as error:
            # The connection may have been dead before, or its session no good: once more on another.
            if isinstance(error, connecting.SUSPECT) and not connections[start.using].in_atomic_block:
                connecting.discard(start.using)
            if waiting.in_vain(error) or not _still_ours(start):
                raise
            together()
    except LeaseLost:
        raise
    except BaseException as error:
        if commit.happened and isinstance(error, Exception):
            callback_failed(start, error)
            return
        if follow_ups.transition_after(start.effect, outcome) is None or not _still_ours(start):
            raise
        log.warning("%s: the follow-up's transaction failed; its outcome is recorded alone: %r", start.held, error)
        with transaction.atomic(using=start.using):
            _in_transaction(start, outcome, write, given, failed=error)
        if not isinstance(error, Exception):
            raise
    points.reach("after_commit")


def callback_failed(start: Start, error: BaseException) -> None:
    """Tells of an error that came after the commit: the outcome stands, and nothing is done again for it."""
    log.error("%s is recorded; a callback after the commit failed.", start.held, exc_info=error)


def _still_ours(start: Start) -> bool:
    """After a transaction that failed: whether the outcome is still to be recorded, and by us.

    Raises:
        LeaseLost: it is another's by now.
    """
    connecting.mend(start.using)
    standing = outcomes.standing(start.held, start.using)
    if standing == "lost":
        raise lost(start.held)
    return standing == "held"


def _in_transaction(
    start: Start,
    outcome: Outcome,
    write: Callable[[dt.datetime, bool], bool],
    given: Any,
    *,
    failed: BaseException | None = None,
) -> None:
    """Writes the outcome and tries what follows; where that ``failed`` at the commit already, writes why instead."""
    using, held = start.using, start.held
    wanted = follow_ups.transition_after(start.effect, outcome)
    gone, now = None, None
    if wanted is not None and failed is None:
        try:  # the record's lock before the run's
            with waiting.bounded(using, LOCK_WAIT):
                _, now = records.lock(start.definition, records.parse_id(start.definition, held.record_id), using)
        except RecordNotFound as error:
            gone = error
    now = now or timing.now(using)
    if not write(now, wanted is not None):
        raise lost(held)
    _remind_again(start, now)
    announce(held, start.definition, using)
    if wanted is None:
        return
    if gone is not None:
        pending_follow_ups.dropped(held.id, str(gone), now, using)
        return
    pending = follow_ups.PendingFollowUp(
        run_id=held.id,
        definition=start.definition,
        record_id=held.record_id,
        transition=wanted,
        outcome=outcome,
        input=given,
        stay_version=held.stay_version,
        since=now,
    )
    if failed is None:
        follow_ups.attempt(pending, now, using)
    elif isinstance(failed, Exception) and not isinstance(failed, connecting.BROKEN):
        follow_ups.not_applied(pending, failed, now, using)


def _remind_again(start: Start, now: dt.datetime) -> None:
    """Enqueues the next run of a repeated reminder, as long as its stay lasts; what was missed is not made up for."""
    reminder, held = start.reminder, start.held
    if reminder is None or reminder.repeat is None or not stay_lasts(start):
        return
    effect_runs.enqueue([next_reminder(held, reminder.repeat, start.effect, now)], start.using)


def is_of_another_life(start: Start, record: Any) -> bool:
    """Whether the record that enqueued the run was deleted, and another one was saved directly under its key."""
    return records.version_of(start.definition, record) == 0 and start.held.stay_version != 0


def stay_lasts(start: Start, record: Any = None) -> bool:
    """Whether the record is still in the stay that enqueued the run."""
    if start.held.stay_version is None:
        return True
    if record is None:
        try:
            record = records.read(start.definition, start.held.record_id, start.using)
        except RecordNotFound:
            return False
    return records.stay_lasts(start.definition, record, start.held.stay_version)
