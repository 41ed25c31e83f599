"""Fact: what an outsider leaves for a flow (a message, a stop, a failed step), and the advance that applies it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import IntegrityError, transaction

from lifecycle import conf, tracing
from lifecycle.actors import Actor
from lifecycle.models import ChannelMessage, FlowEvent, FlowRun, Run, RunKind, RunStatus, StepExecution
from lifecycle.store import enqueueing, inserting

# The last part of an advance's name; that of a step's run has two parts behind the flow's.
ADVANCE = "advance"
# Where advances are enqueued, whatever queues the steps have.
QUEUE = "default"


def publish(
    flow: FlowRun, channel: str, payload: Any, actor: Actor, message_id: str | None, now: dt.datetime, using: str
) -> tuple[ChannelMessage, bool]:
    """Leaves a message; answers it, and whether it is new: a message id that was used gets the first message."""
    message = ChannelMessage(
        flow=flow,
        channel=channel,
        payload=payload,
        message_id=message_id,
        published_at=now,
        **by(actor),
    )
    try:
        with transaction.atomic(using=using):
            inserting.insert(message, using)
    except IntegrityError:
        rows = ChannelMessage.objects.using(using)
        first = rows.filter(flow=flow, channel=channel, message_id=message_id).first()
        if message_id is None or first is None:
            raise
        return first, False
    return message, True


def leave(
    flow: FlowRun,
    kind: FlowEvent.Kind,
    actor: Actor,
    now: dt.datetime,
    using: str,
    *,
    execution: StepExecution | int | None = None,
    reason: str = "",
    data: Any = None,
) -> FlowEvent:
    """Leaves any other fact."""
    event = FlowEvent(
        flow=flow,
        execution_id=execution.pk if isinstance(execution, StepExecution) else execution,
        kind=kind,
        data=data or {},
        reason=reason,
        at=now,
        **by(actor),
    )
    inserting.insert(event, using)
    return event


def advance(flow: FlowRun, at: dt.datetime, now: dt.datetime, using: str) -> Run:
    """Enqueues an advance: it is due ``at`` once, and applies whatever lies there by then."""
    return enqueueing.enqueue([run_of(flow, RunKind.ADVANCE, f"{flow.name}.{ADVANCE}", at, now)], using)[0]


def run_of(flow: FlowRun, kind: RunKind, name: str, at: dt.datetime, now: dt.datetime, **values: Any) -> Run:
    """A run of a flow, not yet written. Advances are our own work: they are never given up."""
    options = conf.options()
    own = {"max_attempts": None, "max_crashes": 2**31 - 1} if kind == RunKind.ADVANCE else {}
    return Run(
        kind=kind,
        flow=flow,
        lifecycle=flow.lifecycle,
        record_id=flow.record_id,
        effect=name,
        status=RunStatus.QUEUED,
        available_at=at,
        lease_seconds=int(options.lease.total_seconds()),
        trace_context=tracing.carried(),
        created_at=now,
        updated_at=now,
        **{"max_attempts": None, "max_crashes": options.max_crashes, **own, **values},
    )


def by(actor: Actor) -> dict[str, Any]:
    """The columns that say who did it."""
    return {"actor_kind": actor.kind, "actor_id": actor.id[:255], "actor_label": str(actor.label)[:150]}
