"""Step: the kind of run that calls a method of a step, and commits its wait or its decision."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from lifecycle import conf, registry
from lifecycle.actors import SYSTEM
from lifecycle.definition.flows import codecs
from lifecycle.definition.flows.decisions import Decision, InvalidDecision
from lifecycle.definition.flows.flow import FlowDefinition, made
from lifecycle.definition.flows.steps import Step
from lifecycle.definition.flows.waits import InvalidWait, Wait
from lifecycle.definition.retries import Retry
from lifecycle.dispatch import after_commit
from lifecycle.execution import finishing
from lifecycle.execution.failures import Verdict
from lifecycle.execution.kinds import Ready
from lifecycle.execution.limits import Limits
from lifecycle.execution.start import Start
from lifecycle.execution.watchdog import Watch
from lifecycle.flows import changing, committing, known
from lifecycle.flows.context import StepContext
from lifecycle.models import FlowEvent, FlowRun, FlowStatus, Phase, Run, StepExecution
from lifecycle.runtime.verbs import firing
from lifecycle.store import lives, outcomes, records, timing, waiting
from lifecycle.store.claims import ClaimedRun, Wanted
from lifecycle.store.flows import facts, locks, rows
from lifecycle.store.outcomes import Failure
from lifecycle.suggest import did_you_mean

# So many seconds a commit waits for the record's lock; then the attempt has failed.
LOCK_WAIT = 10.0
NOT_WANTED = "The flow has ended, or went on without this step; it was not called."


class StepKind:
    """See `kinds.Kind`."""

    def work(self, held: ClaimedRun) -> StepWork | None:
        name, step, method = held.effect.rsplit(".", 2)
        definition = known.find(name)
        found = definition.step(step) if definition is not None else None
        if definition is None or found is None:
            return None
        options = StepBounds(
            name=held.effect,
            timeout=found.options.wait_for_timeout if method == "wait_for" else found.options.execute_timeout,
            heartbeat_timeout=found.options.heartbeat_timeout if method == "execute" else None,
            retry=found.options.wait_for_retry if method == "wait_for" else found.options.retry,
        )
        return StepWork(definition=definition, step=found.name, method=method, options=options)

    def died(self, run: Run | ClaimedRun, now: dt.datetime, using: str) -> None:
        _leave_failure(run, _lost(run), now, using)

    def is_followed(self, run: Run | ClaimedRun) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class StepBounds:
    """The bounds of one method, from the step's options."""

    name: str
    timeout: dt.timedelta | None
    heartbeat_timeout: dt.timedelta | None
    retry: Retry
    atomic: bool = False


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a method answered, checked: a wait or a stored decision, and what it staged."""

    ctx: StepContext
    wait: Wait | None = None
    decision: Any = None


@dataclass(frozen=True, kw_only=True)
class StepWork:
    """See `kinds.Work`."""

    definition: FlowDefinition
    step: str
    method: str
    options: StepBounds

    def prepare(self, start: Start) -> Ready:
        execution = _execution(start.held, start.using)
        if execution is None or not _is_wanted(execution, self.method):
            return Ready(instead=lambda: self.gone(start))
        return Ready(subject=execution)

    def lock(self, start: Start) -> Any:
        raise NotImplementedError("a step is not atomic")

    def call(self, start: Start, subject: Any, watch: Watch, limits: Limits) -> Any:
        execution: StepExecution = subject
        ctx = StepContext(start.held, self.definition, execution, start.using, watch, limits)
        step = made(self.definition, self.step)
        given = codecs.load(execution.input, type(step).input_type(), what=f"input of {execution}")
        return ctx, getattr(step, self.method)(ctx, given)

    def checked(self, result: Any) -> Answer:
        ctx, answer = result
        if self.method == "wait_for":
            return Answer(ctx=ctx, wait=_checked_wait(self.definition, answer))
        return Answer(ctx=ctx, decision=_checked_decision(self.definition, answer))

    def succeeded(self, start: Start, result: Answer, wanted: Wanted | None) -> ClaimedRun | None:
        committing.record(start, lambda: self._commit(start, result))
        return None

    def succeeded_atomically(self, start: Start, result: Any) -> None:
        raise NotImplementedError("a step is not atomic")

    def failed(self, start: Start, failure: Failure) -> None:
        with transaction.atomic(using=start.using):
            now = timing.now(start.using)
            if not outcomes.fail(start.held, failure, now, start.using, follow_up=False):
                raise finishing.lost(start.held)
            _leave_failure(start.held, failure.error, now, start.using)
            after_commit.wake(start.using, [facts.QUEUE])

    def timed_out(self, start: Start, failure: Failure, now: dt.datetime) -> None:
        if outcomes.fail(start.held, failure, now, start.using, follow_up=False, bump=True):
            _leave_failure(start.held, failure.error, now, start.using)

    def gone(self, start: Start) -> None:
        if not outcomes.not_wanted(start.held, NOT_WANTED, timing.now(start.using), start.using):
            raise finishing.lost(start.held)

    def attempt_failed(self, start: Start, verdict: Verdict, error: BaseException) -> None:
        """The attempt stands in the rows; signals are about records."""

    def _commit(self, start: Start, answer: Answer) -> None:
        """Record, flow, run: locked in this order; then what the method answered and staged is written."""
        held, using = start.held, start.using
        self._fire(start, answer.ctx)
        flow = locks.to_change(held.flow_id or 0, using)
        now = timing.now(using)
        if not outcomes.succeed(held, None, now, using, follow_up=False):
            raise finishing.lost(held)
        execution = rows.execution_of(held.execution_id or 0, using)
        if flow.status != FlowStatus.RUNNING or not _is_wanted(execution, self.method, flow):
            return
        changing.publish(flow, answer.ctx.staged_messages, execution, now, using)
        if answer.wait is not None:
            changing.wait(self.definition, flow, execution, answer.wait, now, using)
        else:
            changing.decide(self.definition, flow, execution, answer.decision, now, using)
        if answer.ctx.staged_messages and flow.status == FlowStatus.RUNNING:
            changing.serve(self.definition, flow, now, using)
        rows.save(flow, now, using)

    def _fire(self, start: Start, ctx: StepContext) -> None:
        """Fires what was staged, in the order in which it was, under ids that make a repeat harmless."""
        if not ctx.staged_fires:
            return
        definition = registry.get(ctx.flow.lifecycle)
        with waiting.bounded(start.using, LOCK_WAIT):
            record, _ = records.lock(definition, records.parse_id(definition, ctx.flow.record_id), start.using)
        lives.must_be(definition, record, ctx.flow.record_version, start.using)
        for number, staged in enumerate(ctx.staged_fires):
            firing.fire_automatically(
                definition,
                ctx.flow.record_id,
                staged.transition,
                using=start.using,
                input=staged.input,
                request_id=f"$flow:{ctx.flow.pk}:{ctx.execution}:{number}",
            )


def _execution(held: ClaimedRun, using: str) -> StepExecution | None:
    rows_ = StepExecution.objects.using(using).select_related("flow").filter(pk=held.execution_id or 0)
    return rows_.first()


def _is_wanted(execution: StepExecution, method: str, flow: FlowRun | None = None) -> bool:
    """Whether this method of the execution is what comes next."""
    phase = Phase.BEFORE_WAIT if method == "wait_for" else Phase.EXECUTING
    return (flow or execution.flow).status == FlowStatus.RUNNING and execution.phase == phase


def _checked_wait(definition: FlowDefinition, answer: Any) -> Wait:
    if not isinstance(answer, Wait):
        raise InvalidWait(f"wait_for: expected a Wait, got {answer!r}.")
    for one in answer.conditions:
        channel = getattr(one, "channel", "")
        if channel and channel not in definition.channels:
            raise InvalidWait(
                f"wait_for: flow '{definition.name}' has no channel '{channel}'. "
                f"{did_you_mean(channel, definition.channels)}"
            )
    return answer


def _checked_decision(definition: FlowDefinition, answer: Any) -> Any:
    """A decision as it is stored, its inputs and its output checked against their types."""
    if not isinstance(answer, Decision):
        raise InvalidDecision(f"execute: expected a decision (go_to, graceful_complete, …), got {answer!r}.")
    limit = conf.options().payload_limit
    movements = []
    for movement in answer.movements:
        name = _named(definition, movement.step)
        hint = definition.steps[name].input_type()
        stored = codecs.dump(movement.input, hint, what=f"input of '{name}'", limit=limit)
        movements.append({"step": name, "input": stored})
    output = codecs.dump(answer.output, Any, what="output", limit=limit)
    stored = {"kind": answer.kind, "movements": movements, "output": output, "reason": answer.reason}
    for channel in answer.channels:
        if channel not in definition.channels:
            raise InvalidDecision(
                f"Flow '{definition.name}' has no channel '{channel}'. {did_you_mean(channel, definition.channels)}"
            )
    more = {
        "channels": list(answer.channels),
        "cancels": [_named(definition, step) for step in answer.cancels],
        "cancels_siblings": [_named(definition, step) for step in answer.cancels_siblings],
    }
    return stored | {key: value for key, value in more.items() if value}


def _named(definition: FlowDefinition, step: type[Step[Any]] | str) -> str:
    name = definition.named(step)
    if name is None:
        wanted = step if isinstance(step, str) else step.name
        raise InvalidDecision(
            f"Flow '{definition.name}' has no step '{wanted}'. {did_you_mean(wanted, definition.steps)}"
        )
    return name


def _lost(run: Run | ClaimedRun) -> str:
    lost = "1 worker was" if run.max_crashes == 1 else f"{run.max_crashes} workers were"
    return f"{lost} lost in {run.effect}."


def _leave_failure(run: Run | ClaimedRun, error: str, now: dt.datetime, using: str) -> None:
    """Leaves the fact that a method failed for good, and an advance: whoever applies it holds the flow's lock."""
    flow = FlowRun.objects.using(using).filter(pk=run.flow_id or 0).first()
    if flow is not None:
        facts.leave(flow, FlowEvent.Kind.STEP_FAILED, SYSTEM, now, using, execution=run.execution_id, reason=error)
        facts.advance(flow, now, now, using)
