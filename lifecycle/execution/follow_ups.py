"""Follow-up: the transition an outcome asks for — tried at once, by the sweep, by an operator, always by this code."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connections, transaction

from lifecycle import conf, payloads, registry, signals, tracing
from lifecycle.definition.compiled import CompiledEffect, Definition
from lifecycle.definition.names import effect_name
from lifecycle.exceptions import Conflict, LifecycleError, RecordNotFound, WrongState
from lifecycle.execution import isolation
from lifecycle.models import FollowUp, Outcome, Run
from lifecycle.runtime.verbs import firing
from lifecycle.runtime.writing import announcements, retrying
from lifecycle.store import outcomes, pending_follow_ups, records, timing, waiting

log = logging.getLogger("lifecycle.execution")

# A conflict means that somebody was faster; the next look usually succeeds.
TRIES_AT_ONCE = 3
# So many seconds a follow-up tried later waits for the record's lock.
LOCK_WAIT = 2.0


@dataclass(frozen=True, kw_only=True)
class PendingFollowUp:
    """What is to be fired, for which run."""

    run_id: int
    definition: Definition
    record_id: str
    transition: str
    outcome: str
    input: Mapping[str, Any]
    stay_version: int | None
    tries: int = 0
    since: dt.datetime

    @property
    def request_id(self) -> str:
        """The key that makes the follow-up happen once, whoever tries it and how often."""
        return f"$run:{self.run_id}:{self.outcome}"


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What became of a follow-up. ``status`` is the run's follow-up as it now is; ``error`` why it did not apply.

    ``status`` is None when there was nothing to try (somebody else was faster, or no follow-up is pending).
    """

    status: str | None
    error: BaseException | None = None


def transition_after(effect: CompiledEffect, outcome: str) -> str | None:
    """The transition an effect asks for after an outcome."""
    return {
        Outcome.SUCCEEDED.value: effect.on_success,
        Outcome.FAILED.value: effect.on_failure,
        Outcome.DEAD.value: effect.on_dead,
    }.get(str(outcome))


def input_after(outcome: str, *, result: Any, error: str, code: str, details: Any) -> Mapping[str, Any]:
    """What the follow-up is given: the result if it is a dict, else what went wrong."""
    if outcome == Outcome.SUCCEEDED:
        return result if isinstance(result, dict) else {}
    return {"error": error, "code": code, "details": details}


def apply(run_id: int, using: str, *, by_operator: bool = False) -> Tried:
    """Tries a pending follow-up once, in a transaction of its own; a conflict a few times.

    Called by the sweep when the follow-up is due, and by an operator also for an abandoned one. The effect never runs
    again for it. Two callers at once: one finds nothing left to do.

    Args:
        run_id: the run.
        using: its database.
        by_operator: an abandoned follow-up is tried too, and stays abandoned unless it applies.

    Returns:
        What became of it; exceptions of the transition are in ``error``, not raised.
    """
    states = [FollowUp.PENDING, FollowUp.ABANDONED] if by_operator else [FollowUp.PENDING]

    def work() -> Tried:
        return _apply(run_id, using, states)

    try:
        return retrying.in_own_transaction(work, using, again=_may_be_tried_again)
    except OperationalError as error:
        if not waiting.in_vain(error):
            raise
        # Whoever holds the record for so long must not hold up every sweep as well.
        _postpone(run_id, "Somebody else held a lock for too long.", conf.options().tick_every, using)
        return Tried(status=FollowUp.PENDING, error=error)
    except Exception as error:
        # Past the savepoint: what the database sees at the COMMIT only, as a deferred constraint.
        if connections[using].in_atomic_block or not connections[using].is_usable():
            raise
        return _failed_at_the_end(run_id, error, using, states)
    except (KeyboardInterrupt, SystemExit):
        # The process is to end. If it is the hook itself that ends it, the next process must not meet it at once.
        _postpone(run_id, "The process ended in the middle of it.", conf.options().follow_up_backoff, using)
        raise


def _failed_at_the_end(run_id: int, error: BaseException, using: str, states: list[FollowUp]) -> Tried:
    """Writes why the transaction of a follow-up could not be committed, in one of its own."""
    with transaction.atomic(using=using):
        run = pending_follow_ups.lock(run_id, using, states)
        definition = registry.find(run.lifecycle) if run is not None else None
        effect = definition.effects.get(run.effect) if run is not None and definition is not None else None
        wanted = transition_after(effect, run.outcome) if run is not None and effect is not None else None
        if run is None or definition is None or wanted is None:  # it was committed, or somebody was faster
            raise error
        now = timing.now(using)
        return not_applied(
            _pending_follow_up(run, definition, wanted, now), error, now, using, run.follow_up == FollowUp.ABANDONED
        )


def _postpone(run_id: int, reason: str, pause: dt.timedelta, using: str) -> None:
    with transaction.atomic(using=using):
        now = timing.now(using)
        pending_follow_ups.postponed(run_id, now + pause, reason, now, using, refused=False)


def _may_be_tried_again(error: BaseException) -> bool:
    return retrying.lost_a_race(error) and not waiting.in_vain(error)


def _apply(run_id: int, using: str, states: list[FollowUp]) -> Tried:
    seen = outcomes.load(run_id, using)
    if seen is None or seen.follow_up not in states:
        return Tried(status=None)
    definition = registry.find(seen.lifecycle)
    effect = definition.effects.get(seen.effect) if definition is not None else None
    gone: RecordNotFound | None = None
    now = timing.now(using)
    if definition is not None:
        try:  # the record's lock before the run's
            with waiting.bounded(using, LOCK_WAIT):
                _, now = records.lock(definition, records.parse_id(definition, seen.record_id), using)
        except RecordNotFound as error:
            gone = error
    run = pending_follow_ups.lock(run_id, using, states)
    if run is None:
        return Tried(status=None)
    if definition is None or effect is None:
        return _wait_for_another_process(run, now, using)
    if gone is not None:
        return _dropped(run.pk, gone, now, using)
    wanted = transition_after(effect, run.outcome)
    if wanted is None:
        pending_follow_ups.none(run.pk, now, using)
        return Tried(status=FollowUp.NONE)
    pending = _pending_follow_up(run, definition, wanted, now)
    with tracing.resumed(run.trace_context):
        return attempt(pending, now, using, abandoned=run.follow_up == FollowUp.ABANDONED)


def _pending_follow_up(run: Run, definition: Definition, transition: str, now: dt.datetime) -> PendingFollowUp:
    return PendingFollowUp(
        run_id=run.pk,
        definition=definition,
        record_id=run.record_id,
        transition=transition,
        outcome=run.outcome,
        input=input_after(
            run.outcome, result=run.result, error=run.error, code=run.error_code, details=run.error_details
        ),
        stay_version=run.stay_version,
        tries=run.follow_up_tries,
        since=run.finished_at or now,
    )


def attempt(pending: PendingFollowUp, now: dt.datetime, using: str, *, abandoned: bool = False) -> Tried:
    """Fires what is pending in a savepoint and writes what became of it.

    Must stand inside ``atomic(using)``, the record locked first, the run's row locked or written by this transaction.
    The outcome recorded there stays whatever happens here.
    """
    error = _fire(pending, using)
    if error is None:
        pending_follow_ups.applied(pending.run_id, now, using)
        return Tried(status=FollowUp.APPLIED)
    return not_applied(pending, error, now, using, abandoned)


def not_applied(
    pending: PendingFollowUp, error: BaseException, now: dt.datetime, using: str, abandoned: bool = False
) -> Tried:
    """Writes why a follow-up did not apply and when it is tried again; the caller's transaction holds the run."""
    if _moved_on(error, pending):
        return _dropped(pending.run_id, error, now, using)
    refused = isinstance(error, LifecycleError) and not isinstance(error, Conflict)
    reason = payloads.error_text(error, secrets=conf.options().redact)
    given_up = abandoned or (refused and pending.tries + 1 >= conf.options().follow_up_tries)
    _announce(pending, error, reason, using, abandoned=given_up)
    if given_up:
        pending_follow_ups.abandoned(pending.run_id, reason, now, using)
        return Tried(status=FollowUp.ABANDONED, error=error)
    pending_follow_ups.postponed(pending.run_id, now + _pause(pending, error, now), reason, now, using, refused=refused)
    return Tried(status=FollowUp.PENDING, error=error)


def _fire(pending: PendingFollowUp, using: str) -> BaseException | None:
    """Fires; answers what prevented it. `fire_automatically` opens the savepoint, so nothing of a failed try stays."""
    error: BaseException | None = None
    for _ in range(TRIES_AT_ONCE):
        try:
            with isolation.call():
                firing.fire_automatically(
                    pending.definition,
                    pending.record_id,
                    pending.transition,
                    using=using,
                    input=pending.input,
                    request_id=pending.request_id,
                    stay_version=pending.stay_version,
                )
        except BaseException as raised:  # hooks may raise anything; the outcome stays
            if isolation.told_to_end(raised) and isinstance(raised, (KeyboardInterrupt, SystemExit)):
                raise
            error = raised
            if not isinstance(raised, Conflict) and not retrying.lost_a_race(raised):
                return raised
        else:
            return None
    return error


def _moved_on(error: BaseException, pending: PendingFollowUp) -> bool:
    """Whether the transition itself found that the record moved on; the same answer from nested work is a refusal."""
    return isinstance(error, (WrongState, RecordNotFound)) and (
        error.lifecycle == pending.definition.name
        and error.record_id == pending.record_id
        and (error.transition == pending.transition or isinstance(error, RecordNotFound))
    )


def _pause(pending: PendingFollowUp, error: BaseException, now: dt.datetime) -> dt.timedelta:
    options = conf.options()
    if isinstance(error, Conflict):
        return options.tick_every
    if isinstance(error, LifecycleError):
        doubled: dt.timedelta = options.follow_up_backoff * 2 ** min(pending.tries, 32)
        return min(doubled, options.follow_up_maximum)
    # Exceptions are not counted, for they never lead to giving up; a pause as long as all that went before doubles too.
    return min(max(now - pending.since, options.follow_up_backoff), options.follow_up_maximum)


def _dropped(run_id: int, error: BaseException, now: dt.datetime, using: str) -> Tried:
    reason = payloads.error_text(str(error))
    log.info("The follow-up of run %s is dropped, the record moved on: %s", run_id, reason)
    pending_follow_ups.dropped(run_id, reason, now, using)
    return Tried(status=FollowUp.DROPPED, error=error)


def _wait_for_another_process(run: Run, now: dt.datetime, using: str) -> Tried:
    reason = f"This process does not know {effect_name(run.lifecycle, run.effect)}; another one may."
    if run.follow_up == FollowUp.PENDING:
        pending_follow_ups.postponed(run.pk, now + conf.options().follow_up_backoff, reason, now, using, refused=False)
    return Tried(status=run.follow_up)


def _announce(pending: PendingFollowUp, error: BaseException, reason: str, using: str, *, abandoned: bool) -> None:
    """Tells after the commit that a follow-up was refused; a try that is rolled back is not told."""

    def send() -> None:
        announcements.tell(
            signals.follow_up_refused,
            pending.definition.model,
            lifecycle=pending.definition.name,
            record_id=pending.record_id,
            run_id=pending.run_id,
            transition=pending.transition,
            error=error,
            reason=reason,
            tries=pending.tries + 1,
            abandoned=abandoned,
        )

    announcements.after_commit(send, using)
