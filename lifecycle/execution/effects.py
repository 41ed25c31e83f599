"""Effect: the kind of run that calls an effect of a lifecycle about a record, and fires what its outcome asks for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from lifecycle import registry
from lifecycle.definition.compiled import CompiledEffect, CompiledReminder, Definition
from lifecycle.exceptions import RecordNotFound
from lifecycle.execution import announcing, connecting, failures, finishing, follow_ups, interference, points, reminders
from lifecycle.execution.context import EffectContext
from lifecycle.execution.failures import Verdict
from lifecycle.execution.kinds import Ready
from lifecycle.execution.limits import Limits
from lifecycle.execution.start import Start
from lifecycle.execution.watchdog import Watch
from lifecycle.models import Outcome, Run
from lifecycle.store import claims, enqueueing, outcomes, pending_follow_ups, records, timing, waiting
from lifecycle.store.claims import ClaimedRun, Wanted
from lifecycle.store.outcomes import Failure

# So many seconds an outcome waits for the record's lock; then it is recorded alone, and the follow-up comes later.
LOCK_WAIT = 10.0


class EffectKind:
    """See `kinds.Kind`."""

    def work(self, held: ClaimedRun) -> EffectWork | None:
        definition = registry.find(held.lifecycle)
        effect = definition.effects.get(held.effect) if definition is not None else None
        if definition is None or effect is None:
            return None
        return EffectWork(definition=definition, effect=effect)

    def is_followed(self, run: Run | ClaimedRun) -> bool:
        # A process that does not know the effect leaves the question to one that does.
        definition = registry.find(run.lifecycle)
        effect = definition.effects.get(run.effect) if definition is not None else None
        return effect is None or effect.on_dead is not None

    def died(self, run: Run | ClaimedRun, now: dt.datetime, using: str) -> None:
        definition = registry.find(run.lifecycle)
        # Whether the stay lasts is asked when the next one is claimed; the record is not locked here.
        reminder = definition.reminders.get(run.reminder) if definition is not None and run.reminder else None
        if definition is not None and reminder is not None and reminder.repeat is not None:
            following = reminders.next_reminder(run, reminder.repeat, definition.effects[reminder.effect], now)
            enqueueing.enqueue([following], using)
        announcing.announce(run, definition, using, dead=True)


@dataclass(frozen=True, kw_only=True)
class EffectWork:
    """See `kinds.Work`."""

    definition: Definition
    effect: CompiledEffect

    @property
    def options(self) -> CompiledEffect:
        return self.effect

    # Before and in the code -----------------------------------------------------------------------

    def prepare(self, start: Start) -> Ready:
        try:
            record = records.read(self.definition, start.held.record_id, start.using)
        except RecordNotFound:
            return Ready(instead=lambda: self.gone(start))
        if self._is_of_another_life(start, record):
            return Ready(instead=lambda: self.gone(start))
        if (start.held.reminder or self.effect.only_during_stay) and not self._stay_lasts(start, record):
            return Ready(instead=lambda: _stay_ended(start))
        return Ready(subject=record)

    def lock(self, start: Start) -> Any:
        record, _ = records.lock(self.definition, records.parse_id(self.definition, start.held.record_id), start.using)
        return record

    def call(self, start: Start, subject: Any, watch: Watch, limits: Limits) -> Any:
        ctx = EffectContext(start.held, self.definition, subject, self.effect.timeout, start.using, watch, limits)
        if interference.before is not None:
            interference.before(self.definition, self.effect, ctx)
        return self.effect.call(ctx)

    def checked(self, result: Any) -> Any:
        return failures.checked_result(result)

    # After it ---------------------------------------------------------------------------------------

    def succeeded(self, start: Start, result: Any, wanted: Wanted | None) -> ClaimedRun | None:
        if self.effect.on_success is None and self._reminder(start) is None:
            finished, following = claims.for_alias(start.using).finish_and_claim(start.held, result, wanted)
            if finished:
                points.reach("after_commit")
                announcing.announce(start.held, self.definition, start.using)
            else:
                finishing.log.info("%s: the lease was lost, its outcome is discarded.", start.held)
            return following
        self._record(start, Outcome.SUCCEEDED, _success(start, result), _given(result=result))
        return None

    def succeeded_atomically(self, start: Start, result: Any) -> None:
        self._in_transaction(start, Outcome.SUCCEEDED, _success(start, result), _given(result=result))

    def failed(self, start: Start, failure: Failure) -> None:
        def write(now: dt.datetime, follow_up: bool) -> bool:
            return outcomes.fail(start.held, failure, now, start.using, follow_up=follow_up)

        self._record(start, Outcome.FAILED, write, _given(failure=failure))

    def timed_out(self, start: Start, failure: Failure, now: dt.datetime) -> None:
        followed = self.effect.on_failure is not None
        if outcomes.fail(start.held, failure, now, start.using, follow_up=followed, bump=True):
            self._remind_again(start, now)
            announcing.announce(start.held, self.definition, start.using)

    def gone(self, start: Start) -> None:
        with transaction.atomic(using=start.using):
            followed = self.effect.on_failure is not None
            if not outcomes.record_gone(start.held, timing.now(start.using), start.using, follow_up=followed):
                raise finishing.lost(start.held)
            announcing.announce(start.held, self.definition, start.using)

    def attempt_failed(self, start: Start, verdict: Verdict, error: BaseException) -> None:
        announcing.announce_failure(
            start.held, self.definition.model, self.effect.on_failure is not None, verdict, error, start.using
        )

    # What follows -----------------------------------------------------------------------------------

    def _record(self, start: Start, outcome: Outcome, write: Callable[[dt.datetime, bool], bool], given: Any) -> None:
        """Outcome and follow-up in one transaction; if that cannot be, the outcome alone, the follow-up pending."""
        finishing.record(
            start,
            lambda failed: self._in_transaction(start, outcome, write, given, failed=failed),
            has_more=follow_ups.transition_after(self.effect, outcome) is not None,
        )

    def _in_transaction(
        self,
        start: Start,
        outcome: Outcome,
        write: Callable[[dt.datetime, bool], bool],
        given: Any,
        *,
        failed: BaseException | None = None,
    ) -> None:
        """Writes the outcome and tries what follows; where that ``failed`` at the commit already, writes why."""
        using, held = start.using, start.held
        wanted = follow_ups.transition_after(self.effect, outcome)
        gone, now = None, None
        if wanted is not None and failed is None:
            try:  # the record's lock before the run's
                with waiting.bounded(using, LOCK_WAIT):
                    _, now = records.lock(self.definition, records.parse_id(self.definition, held.record_id), using)
            except RecordNotFound as error:
                gone = error
        now = now or timing.now(using)
        if not write(now, wanted is not None):
            raise finishing.lost(held)
        self._remind_again(start, now)
        announcing.announce(held, self.definition, using)
        if wanted is None:
            return
        if gone is not None:
            pending_follow_ups.dropped(held.id, str(gone), now, using)
            return
        pending = follow_ups.PendingFollowUp(
            run_id=held.id,
            definition=self.definition,
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

    def _reminder(self, start: Start) -> CompiledReminder | None:
        """The reminder that enqueued this run, when it is to come again."""
        found = self.definition.reminders.get(start.held.reminder) if start.held.reminder else None
        return found if found is not None and found.repeat is not None else None

    def _remind_again(self, start: Start, now: dt.datetime) -> None:
        """Enqueues the next run of a repeated reminder, as long as its stay lasts; what was missed is left out."""
        reminder = self._reminder(start)
        if reminder is None or reminder.repeat is None or not self._stay_lasts(start):
            return
        enqueueing.enqueue([reminders.next_reminder(start.held, reminder.repeat, self.effect, now)], start.using)

    def _is_of_another_life(self, start: Start, record: Any) -> bool:
        """Whether the record that enqueued the run was deleted, and another was saved directly under its key."""
        return records.version_of(self.definition, record) == 0 and start.held.stay_version != 0

    def _stay_lasts(self, start: Start, record: Any = None) -> bool:
        """Whether the record is still in the stay that enqueued the run."""
        if start.held.stay_version is None:
            return True
        if record is None:
            try:
                record = records.read(self.definition, start.held.record_id, start.using)
            except RecordNotFound:
                return False
        return records.stay_lasts(self.definition, record, start.held.stay_version)


def _success(start: Start, result: Any) -> Callable[[dt.datetime, bool], bool]:
    def write(now: dt.datetime, follow_up: bool) -> bool:
        return outcomes.succeed(start.held, result, now, start.using, follow_up=follow_up)

    return write


def _given(*, result: Any = None, failure: Failure | None = None) -> Any:
    """What the follow-up is given."""
    if failure is None:
        return follow_ups.input_after(Outcome.SUCCEEDED, result=result, error="", code="", details=None)
    return follow_ups.input_after(
        Outcome.FAILED, result=None, error=failure.error, code=failure.code, details=failure.details
    )


def _stay_ended(start: Start) -> None:
    """Ends a run that was to be called during its stay only, without an attempt."""
    if not outcomes.stay_ended(start.held, timing.now(start.using), start.using):
        raise finishing.lost(start.held)
