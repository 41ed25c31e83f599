"""Changing: what a commit of a step or an advance does to a flow that is locked."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from lifecycle.actors import Actor
from lifecycle.definition.flows import evaluation
from lifecycle.definition.flows.flow import FlowDefinition
from lifecycle.definition.flows.steps import Step
from lifecycle.definition.flows.waits import Wait
from lifecycle.dispatch import after_commit
from lifecycle.models import FlowEvent, FlowRun, FlowStatus, Phase, StepExecution
from lifecycle.store.flows import facts, locks, rows


def wait(
    definition: FlowDefinition, flow: FlowRun, execution: StepExecution, wanted: Wait, now: dt.datetime, using: str
) -> None:
    """Stores a wait, or goes on at once where there is nothing to wait for."""
    step = definition.step(execution.step)
    if step is not None and not wanted.conditions:
        _make_ready(flow, execution, step, now, using)
        return
    rows.wait(flow, execution, wanted, now, using)
    serve(definition, flow, now, using)


def decide(
    definition: FlowDefinition, flow: FlowRun, execution: StepExecution, decision: Any, now: dt.datetime, using: str
) -> None:
    """Ends an execution with its decision: begins what comes next, or closes the flow.

    Args:
        decision: as `steps.StepWork.checked` made it: kind, movements with stored inputs, output, reason.
    """
    kind = decision["kind"]
    if kind == "complete_if_empty":
        locks.to_close(flow, using)
        empty = rows.are_empty(flow, decision["channels"], execution, using)
        kind = "force_complete" if empty else "go_to"
        decision = {**decision, "output": decision["output"] if empty else None}
        decision["movements"] = [] if empty else decision["movements"]
    rows.end(flow, execution, Phase.COMPLETED, now, using, decision=decision, output=decision.get("output"))
    _cancel(flow, execution, decision, now, using)
    for movement in decision.get("movements", []):
        _begin(flow, definition.steps[movement["step"]], movement["input"], str(execution), now, using)
    if kind == "force_complete":
        rows.close(flow, FlowStatus.COMPLETED, now, using)
    elif kind == "force_fail":
        rows.close(flow, FlowStatus.FAILED, now, using, error=decision["reason"])
    elif kind == "graceful_complete":
        flow.completing = True
    _complete_if_done(flow, now, using)


def _cancel(flow: FlowRun, execution: StepExecution, decision: Any, now: dt.datetime, using: str) -> None:
    """Cancels what the decision names, among what is open before it begins anything itself."""
    everywhere, beside = decision.get("cancels", []), decision.get("cancels_siblings", [])
    if everywhere or beside:
        for other in rows.open_executions(flow, using):
            if other.step in everywhere or (other.step in beside and other.came_from == execution.came_from):
                rows.cancel(flow, other, now, using)


def publish(flow: FlowRun, messages: Sequence[tuple[str, Any]], execution: StepExecution, now: Any, using: str) -> None:
    """Publishes what a step staged."""
    actor = Actor(f"flow:{flow.name}", label=str(execution))
    for channel, payload in messages:
        facts.publish(flow, channel, payload, actor, None, now, using)


def serve(definition: FlowDefinition, flow: FlowRun, now: dt.datetime, using: str) -> None:
    """Ends every wait that is over, the oldest execution's first; each against what the earlier ones left."""
    waiting = rows.waiting(flow, using)
    if not waiting:
        return
    lying = rows.lying(flow, using)
    for execution, conditions in waiting:
        step = definition.step(execution.step)
        if step is None:
            continue  # another version of the code knows it
        taken = evaluation.over(execution.wait_mode, conditions, lying, now)
        if taken is None:
            continue
        brought = {
            "messages": {channel: [one.payload for one in messages] for channel, messages in taken.messages.items()},
            "fired": list(taken.fired),
        }
        consumed = [one.pk for messages in taken.messages.values() for one in messages]
        for channel, messages in taken.messages.items():
            lying[channel] = lying[channel][len(messages) :] if messages else lying.get(channel, [])
        _make_ready(flow, execution, step, now, using, brought=brought, consumed=consumed)


def apply(definition: FlowDefinition, flow: FlowRun, events: Sequence[FlowEvent], now: dt.datetime, using: str) -> None:
    """Applies facts in the order in which they were left; the first that closes the flow is the last."""
    for event in events:
        if flow.status != FlowStatus.RUNNING:
            break
        if event.kind == FlowEvent.Kind.STOP:
            status = FlowStatus.FAILED if event.data.get("how") == "fail" else FlowStatus.CANCELLED
            rows.close(flow, status, now, using, error=event.reason)
        elif event.kind == FlowEvent.Kind.STEP_FAILED:
            _step_failed(definition, flow, event, now, using)
        elif event.kind == FlowEvent.Kind.TIMER_SKIPPED:
            rows.skip_timer(event.execution_id or 0, event.data["timer"], using)
    rows.applied(events, now, using)


def time_out(flow: FlowRun, now: dt.datetime, using: str) -> None:
    """Fails a flow that took longer than it may."""
    if flow.status == FlowStatus.RUNNING and flow.due_at is not None and flow.due_at <= now:
        length = flow.due_at - flow.created_at
        rows.close(flow, FlowStatus.FAILED, now, using, error=f"The flow took longer than {length}.")


def _step_failed(definition: FlowDefinition, flow: FlowRun, event: FlowEvent, now: dt.datetime, using: str) -> None:
    """What a step asked for in case a method of its fails for good: go on, recover, or else the flow fails."""
    execution = rows.execution_of(event.execution_id or 0, using)
    step = definition.step(execution.step)
    if execution.phase not in (Phase.BEFORE_WAIT, Phase.EXECUTING):
        return
    if step is not None and execution.phase == Phase.BEFORE_WAIT and step.options.on_wait_for_failure == "proceed":
        _make_ready(flow, execution, step, now, using, wait_failed=True)
        return
    recovery = step.options.on_execute_failure if step is not None and execution.phase == Phase.EXECUTING else None
    rows.end(flow, execution, Phase.FAILED, now, using, error=event.reason)
    if recovery is None:
        rows.close(flow, FlowStatus.FAILED, now, using, error=f"{execution}: {event.reason}")
        return
    name = definition.named(recovery.step) or ""
    _begin(flow, definition.steps[name], execution.input, str(execution), now, using, recovery_error=event.reason)


def _begin(flow: FlowRun, step: type[Step[Any]], given: Any, came_from: str, now: Any, using: str, **more: Any) -> None:
    """Begins an execution, and sees to it that the workers of its queue are woken after the commit."""
    rows.begin(flow, step, given, came_from, now, using, **more)
    after_commit.wake(using, [step.options.queue])


def _make_ready(
    flow: FlowRun, execution: StepExecution, step: type[Step[Any]], now: dt.datetime, using: str, **more: Any
) -> None:
    """Ends a wait, and wakes likewise."""
    rows.make_ready(flow, execution, step, now, using, **more)
    after_commit.wake(using, [step.options.queue])


def _complete_if_done(flow: FlowRun, now: dt.datetime, using: str) -> None:
    if flow.status == FlowStatus.RUNNING and flow.completing and flow.open == 0:
        rows.close(flow, FlowStatus.COMPLETED, now, using)
