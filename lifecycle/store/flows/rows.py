"""Rows of a flow that is locked: executions begin, wait, end; the flow goes on or is closed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import F, Q

from lifecycle.definition.flows.steps import Step
from lifecycle.definition.flows.waits import Timer, Wait
from lifecycle.models import (
    ChannelMessage,
    FlowEvent,
    FlowRun,
    FlowStatus,
    Phase,
    Run,
    RunKind,
    RunStatus,
    StepExecution,
    WaitCondition,
)
from lifecycle.models.flows import OPEN
from lifecycle.store import enqueueing, inserting
from lifecycle.store.flows import facts, locks


def save(flow: FlowRun, now: dt.datetime, using: str) -> None:
    """Writes what changed of a locked flow."""
    flow.updated_at = now
    FlowRun.objects.using(using).filter(pk=flow.pk).update(
        status=flow.status,
        completing=flow.completing,
        open=flow.open,
        numbers=flow.numbers,
        error=flow.error,
        finished_at=flow.finished_at,
        updated_at=now,
    )


def begin(
    flow: FlowRun,
    step: type[Step[Any]],
    stored_input: Any,
    came_from: str,
    now: dt.datetime,
    using: str,
    *,
    recovery_error: str = "",
) -> StepExecution:
    """Begins an execution under the next number of its step, and enqueues its first method."""
    number = flow.numbers.get(step.name, 0) + 1
    flow.numbers = {**flow.numbers, step.name: number}
    flow.open += 1
    execution = StepExecution(
        flow=flow,
        step=step.name,
        number=number,
        came_from=came_from,
        phase=Phase.BEFORE_WAIT if step.waits() else Phase.EXECUTING,
        input=stored_input,
        recovery_error=recovery_error,
        created_at=now,
    )
    inserting.insert(execution, using)
    _enqueue(flow, execution, step, now, using)
    return execution


def wait(flow: FlowRun, execution: StepExecution, wanted: Wait, now: dt.datetime, using: str) -> None:
    """Stores what an execution waits for; its timers are runs that are due later."""
    execution.phase, execution.waiting_since, execution.wait_mode = Phase.WAITING, now, wanted.mode
    StepExecution.objects.using(using).filter(pk=execution.pk).update(
        phase=execution.phase, waiting_since=now, wait_mode=wanted.mode
    )
    for position, one in enumerate(wanted.conditions):
        row = WaitCondition(flow=flow, execution=execution, position=position, name=one.id)
        if isinstance(one, Timer):
            row.due_at = now + one.after
            facts.advance(flow, row.due_at, now, using)
        else:
            row.channel, row.least, row.most = one.channel, one.least, one.most
        inserting.insert(row, using)


def make_ready(
    flow: FlowRun,
    execution: StepExecution,
    step: type[Step[Any]],
    now: dt.datetime,
    using: str,
    *,
    brought: Mapping[str, Any] | None = None,
    consumed: Sequence[int] = (),
    wait_failed: bool = False,
) -> None:
    """Ends a wait: what it consumed is the execution's own, and ``execute`` is enqueued."""
    execution.phase = Phase.EXECUTING
    WaitCondition.objects.using(using).filter(execution=execution).delete()
    ChannelMessage.objects.using(using).filter(pk__in=consumed).update(consumed_by=execution)
    StepExecution.objects.using(using).filter(pk=execution.pk).update(
        phase=execution.phase, brought=dict(brought or {}), wait_failed=wait_failed
    )
    _enqueue(flow, execution, step, now, using)


def end(
    flow: FlowRun,
    execution: StepExecution,
    phase: Phase,
    now: dt.datetime,
    using: str,
    *,
    decision: Any = None,
    output: Any = None,
    error: str = "",
) -> None:
    """Ends one execution."""
    flow.open -= 1
    execution.phase = phase
    WaitCondition.objects.using(using).filter(execution=execution).delete()
    StepExecution.objects.using(using).filter(pk=execution.pk).update(
        phase=phase, ended_at=now, decision=decision, output=output, error=error
    )


def close(flow: FlowRun, status: FlowStatus, now: dt.datetime, using: str, *, error: str = "") -> None:
    """Ends the flow: what is open is cancelled, what is queued is not begun, who runs has lost its fence."""
    locks.to_close(flow, using)
    flow.status, flow.error, flow.finished_at, flow.open = status, error, now, 0
    WaitCondition.objects.using(using).filter(flow=flow).delete()
    StepExecution.objects.using(using).filter(flow=flow, phase__in=OPEN).update(phase=Phase.CANCELLED, ended_at=now)
    _cancel_runs(Run.objects.using(using).filter(flow=flow), now)


def cancel(flow: FlowRun, execution: StepExecution, now: dt.datetime, using: str) -> None:
    """Cancels one execution: what its method has not committed is lost, what its wait consumed stays consumed."""
    end(flow, execution, Phase.CANCELLED, now, using)
    _cancel_runs(Run.objects.using(using).filter(execution=execution), now)


def _cancel_runs(runs: Any, now: dt.datetime) -> None:
    """What is queued is not begun; who runs has lost its fence."""
    runs.filter(status__in=[RunStatus.HELD, RunStatus.QUEUED, RunStatus.RUNNING]).update(
        status=RunStatus.CANCELLED,
        fence=F("fence") + 1,
        finished_at=now,
        updated_at=now,
        lease_until=None,
        leased_by="",
    )


# Looks, each by a statement after the lock ----------------------------------------------------------


def execution_of(execution_id: int, using: str) -> StepExecution:
    """One execution as it is now."""
    found: StepExecution = StepExecution.objects.using(using).get(pk=execution_id)
    return found


def open_executions(flow: FlowRun, using: str) -> list[StepExecution]:
    """What is not over yet, oldest first."""
    return list(StepExecution.objects.using(using).filter(flow=flow, phase__in=OPEN).order_by("id"))


def are_empty(flow: FlowRun, channels: Sequence[str], deciding: StepExecution, using: str) -> bool:
    """Whether nothing lies in the channels, and nobody but the deciding execution works on a message of theirs."""
    messages = ChannelMessage.objects.using(using).filter(flow=flow, channel__in=channels)
    worked_on = messages.filter(consumed_by__phase__in=OPEN).exclude(consumed_by=deciding)
    return not messages.filter(consumed_by=None).exists() and not worked_on.exists()


def pending_events(flow: FlowRun, using: str) -> list[FlowEvent]:
    """The facts nobody applied yet, oldest first."""
    return list(FlowEvent.objects.using(using).filter(flow=flow, applied_at=None).order_by("id"))


def applied(events: Sequence[FlowEvent], now: dt.datetime, using: str) -> None:
    """Marks facts as applied."""
    FlowEvent.objects.using(using).filter(pk__in=[event.pk for event in events]).update(applied_at=now)


def waiting(flow: FlowRun, using: str) -> list[tuple[StepExecution, list[WaitCondition]]]:
    """The executions that wait, oldest first, with their conditions."""
    executions = list(StepExecution.objects.using(using).filter(flow=flow, phase=Phase.WAITING).order_by("id"))
    found: dict[int, list[WaitCondition]] = {execution.pk: [] for execution in executions}
    for row in WaitCondition.objects.using(using).filter(execution__in=executions).order_by("position"):
        found[row.execution_id].append(row)
    return [(execution, found[execution.pk]) for execution in executions]


def lying(flow: FlowRun, using: str) -> dict[str, list[ChannelMessage]]:
    """The messages nobody took yet, by channel, oldest first."""
    found: dict[str, list[ChannelMessage]] = {}
    for message in ChannelMessage.objects.using(using).filter(flow=flow, consumed_by=None).order_by("id"):
        found.setdefault(message.channel, []).append(message)
    return found


def other_advances(flow: FlowRun, mine: int, now: dt.datetime, using: str) -> list[int]:
    """The advances that are due beside mine; whatever they came for is visible to a later statement."""
    rows = Run.objects.using(using).filter(
        flow=flow, kind=RunKind.ADVANCE, status=RunStatus.QUEUED, available_at__lte=now
    )
    return list(rows.exclude(pk=mine).values_list("pk", flat=True))


def end_advances(ids: Sequence[int], now: dt.datetime, using: str) -> None:
    """Ends queued advances whose facts were applied by another."""
    rows = Run.objects.using(using).filter(pk__in=ids, status=RunStatus.QUEUED)
    rows.update(status=RunStatus.SUCCEEDED, finished_at=now, updated_at=now)


def skip_timer(execution_id: int, timer: str, using: str) -> None:
    """Marks a timer of an execution, given by its id or its place, as fired before its time."""
    timers = WaitCondition.objects.using(using).filter(execution=execution_id, channel="")
    named = Q(name=timer) | Q(position=int(timer)) if timer.isdecimal() else Q(name=timer)
    timers.filter(named).update(skipped=True)


def _enqueue(flow: FlowRun, execution: StepExecution, step: type[Step[Any]], now: dt.datetime, using: str) -> Run:
    """The run of the method that comes next: ``wait_for`` before the wait, ``execute`` after it."""
    method = "wait_for" if execution.phase == Phase.BEFORE_WAIT else "execute"
    retry = step.options.wait_for_retry if method == "wait_for" else step.options.retry
    run = facts.run_of(
        flow,
        RunKind.STEP,
        f"{flow.name}.{step.name}.{method}",
        now,
        now,
        execution=execution,
        queue=step.options.queue,
        max_attempts=retry.attempts,
    )
    return enqueueing.enqueue([run], using)[0]
