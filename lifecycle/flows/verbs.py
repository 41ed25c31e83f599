"""Verbs: what callers do with flows — start, publish, stop, skip a timer. Each leaves facts; workers do the rest."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Literal

from django.db import IntegrityError, router, transaction

from lifecycle import conf, registry
from lifecycle.actors import as_actor
from lifecycle.definition.flows import codecs
from lifecycle.definition.flows.channels import Channel
from lifecycle.definition.flows.flow import FlowDefinition
from lifecycle.dispatch import after_commit
from lifecycle.exceptions import FlowEnded, FlowIdInUse, InvalidInput, NobodyWaits, UnknownFlow
from lifecycle.flows import known
from lifecycle.models import FlowEvent, FlowRun, FlowStatus, Phase, TransitionLog, WaitCondition
from lifecycle.runtime.deciding import requests
from lifecycle.store import inserting, records, timing
from lifecycle.store.flows import facts, locks, rows

How = Literal["cancel", "fail"]
CANCEL: How = "cancel"
FAIL: How = "fail"
ID_LENGTH = 200


@dataclass(frozen=True, kw_only=True)
class Started:
    """What `start_flow` answers; ``replayed``: this request had started it before."""

    flow: FlowRun
    replayed: bool = False


def start_flow(
    flow: Any,
    input: Any = None,
    *,
    actor: Any,
    flow_id: str,
    record: Any = None,
    lifecycle: Any = None,
    request_id: str | None = None,
    entry: TransitionLog | None = None,
    using: str | None = None,
) -> Started:
    """Starts a flow: its first step is enqueued in the caller's transaction, or in one of its own.

    Args:
        flow: the class, or its name.
        input: what the first step is given, of the type the flow declares.
        actor: a user, ``SYSTEM`` or ``Actor("name")``. Required.
        flow_id: the caller's name for it; one flow of a kind has it, for ever.
        record: the record it belongs to; it is then on the record's database and page.
        lifecycle: which of the record's lifecycles, where it has several.
        request_id: makes a repeat harmless: it gets the first answer.
        entry: the entry of the transition that asks for it, if one does.
        using: the database of a flow without a record.

    Raises:
        UnknownFlow: no flow has this name.
        FlowIdInUse: another request used the id.
        InvalidPayload: the input is none of the flow's.
    """
    definition = known.of(flow)
    who = as_actor(actor)
    flow_id = _checked_id(flow_id)
    if request_id is not None and entry is None:
        requests.check(request_id)
    stored = _input(definition, input)
    of_record = registry.of(lifecycle if lifecycle is not None else record) if record is not None else None
    alias = using or router.db_for_write(FlowRun if record is None else type(record), instance=record)
    with transaction.atomic(using=alias):
        now = timing.now(alias)
        row = FlowRun(
            name=definition.name,
            flow_id=flow_id,
            lifecycle=of_record.name if of_record is not None else "",
            record_id=records.text_id(record) if record is not None else "",
            entry=entry,
            input=stored,
            request_id=request_id,
            record_version=records.version_of(of_record, record) if of_record is not None else None,
            due_at=now + definition.timeout if definition.timeout is not None else None,
            created_at=now,
            updated_at=now,
            **facts.by(who),
        )
        try:
            with transaction.atomic(using=alias):
                inserting.insert(row, alias)
        except IntegrityError:
            return _earlier(definition, flow_id, request_id, alias)
        if definition.start is not None:
            rows.begin(row, definition.steps[definition.start], stored, "$start", now, alias)
            rows.save(row, now, alias)
            after_commit.wake(alias, [definition.steps[definition.start].options.queue])
        if row.due_at is not None:
            facts.advance(row, row.due_at, now, alias)
    return Started(flow=row)


def publish(
    flow: Any,
    channel: Channel[Any] | str,
    message: Any,
    *,
    actor: Any,
    message_id: str | None = None,
    expect_waiting: bool = False,
    using: str | None = None,
) -> bool:
    """Publishes a message to a running flow: whichever step waits for it takes it, now or later.

    Args:
        flow: a `FlowRun`, or ``(FlowClass, "id")``.
        channel: the channel, or its name.
        message: of the channel's type.
        actor: a user, ``SYSTEM`` or ``Actor("name")``. Required.
        message_id: makes a repeat harmless.
        expect_waiting: `NobodyWaits` when no step waits for the channel at this moment.
        using: the database, where the flow is named by class and id.

    Returns:
        Whether the message is new; False for a repeat.

    Raises:
        UnknownFlow: there is no such flow or channel.
        FlowEnded: the flow is not running any more.
        InvalidPayload: the message is none of the channel's.
    """
    row, definition = _found(flow, using)
    try:
        name = definition.channel(channel)
    except LookupError as error:
        raise UnknownFlow(str(error)) from None
    if message_id is not None:
        requests.check(message_id)
    limit = conf.options().payload_limit
    stored = codecs.dump(message, definition.channels[name].kind, what=f"message of '{name}'", limit=limit)
    alias = row._state.db or "default"
    with transaction.atomic(using=alias):
        running = locks.to_publish(row.pk, alias)
        if not running:
            raise FlowEnded(f"{definition.name} '{row.flow_id}' has ended; it takes no messages.")
        if expect_waiting and not _waits(row, name, alias):
            raise NobodyWaits(f"No step of {definition.name} '{row.flow_id}' waits for '{name}' at this moment.")
        now = timing.now(alias)
        _, new = facts.publish(row, name, stored, as_actor(actor), message_id, now, alias)
        if new:
            _advance(row, now, alias)
    return new


def stop(flow: Any, how: How = CANCEL, *, actor: Any, reason: str = "", using: str | None = None) -> None:
    """Asks a flow to end: its steps are cancelled, and it is cancelled or failed. The first request wins.

    Raises:
        UnknownFlow: there is no such flow.
        FlowEnded: it is not running any more.
    """
    row, definition = _found(flow, using)
    if how not in (CANCEL, FAIL):
        raise InvalidInput(f"stop: expected CANCEL or FAIL, got {how!r}.")
    alias = row._state.db or "default"
    with transaction.atomic(using=alias):
        if not locks.to_publish(row.pk, alias):
            raise FlowEnded(f"{definition.name} '{row.flow_id}' has ended already.")
        now = timing.now(alias)
        facts.leave(row, FlowEvent.Kind.STOP, as_actor(actor), now, alias, reason=reason, data={"how": how})
        _advance(row, now, alias)


def skip_timer(
    flow: Any, execution: str, timer: str | int = 0, *, actor: Any, reason: str = "", using: str | None = None
) -> None:
    """Lets a timer that a step waits for fire now.

    Args:
        execution: ``"Pack-1"``.
        timer: its id, or its place among the conditions.

    Raises:
        UnknownFlow: there is no such flow, or no step waits for such a timer.
        FlowEnded: the flow is not running any more.
    """
    row, definition = _found(flow, using)
    alias = row._state.db or "default"
    with transaction.atomic(using=alias):
        if not locks.to_publish(row.pk, alias):
            raise FlowEnded(f"{definition.name} '{row.flow_id}' has ended already.")
        waiting = [
            one
            for one in WaitCondition.objects.using(alias).filter(flow=row, channel="").select_related("execution")
            if str(one.execution) == execution and str(timer) in (one.name, str(one.position))
        ]
        if not waiting:
            raise UnknownFlow(f"{execution} of {definition.name} '{row.flow_id}' waits for no timer '{timer}'.")
        now = timing.now(alias)
        facts.leave(
            row,
            FlowEvent.Kind.TIMER_SKIPPED,
            as_actor(actor),
            now,
            alias,
            execution=waiting[0].execution,
            reason=reason,
            data={"timer": str(timer)},
        )
        _advance(row, now, alias)


def _found(flow: Any, using: str | None) -> tuple[FlowRun, FlowDefinition]:
    if isinstance(flow, FlowRun):
        return flow, known.of(flow.name)
    kind, flow_id = flow
    definition = known.of(kind)
    alias = using or router.db_for_write(FlowRun)
    row = FlowRun.objects.using(alias).filter(name=definition.name, flow_id=flow_id).first()
    if row is None:
        raise UnknownFlow(f"There is no {definition.name} '{flow_id}'.")
    return row, definition


def _advance(row: FlowRun, now: dt.datetime, using: str) -> None:
    facts.advance(row, now, now, using)
    after_commit.wake(using, [facts.QUEUE])


def _waits(row: FlowRun, channel: str, using: str) -> bool:
    rows_ = WaitCondition.objects.using(using).filter(flow=row, channel=channel, execution__phase=Phase.WAITING)
    return bool(rows_.exists())


def _earlier(definition: FlowDefinition, flow_id: str, request_id: str | None, using: str) -> Started:
    row = FlowRun.objects.using(using).filter(name=definition.name, flow_id=flow_id).first()
    if row is not None and request_id is not None and row.request_id == request_id:
        return Started(flow=row, replayed=True)
    state = FlowStatus(row.status).label if row is not None else "…"
    raise FlowIdInUse(f"{definition.name} '{flow_id}' was started already ({state}); choose another id.")


def _input(definition: FlowDefinition, input: Any) -> Any:
    hint = definition.steps[definition.start].input_type() if definition.start is not None else type(None)
    return codecs.dump(input, hint, what="input", limit=conf.options().payload_limit)


def _checked_id(flow_id: Any) -> str:
    text = str(flow_id)
    if not text or len(text) > ID_LENGTH or any(c in text for c in "/$:\x00"):
        raise InvalidInput(f"flow_id: expected 1 to {ID_LENGTH} characters without / $ :, got {text[:60]!r}.")
    return text
