"""Step: what one firing does, one after the other, inside its transaction."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

from lifecycle.definition.compiled import Definition, Hook
from lifecycle.definition.contexts import TransitionContext
from lifecycle.dispatch import after_commit
from lifecycle.exceptions import (
    InvalidInput,
)
from lifecycle.models import TransitionLog
from lifecycle.runtime.deciding import evaluator, expectations, inputs, requests
from lifecycle.runtime.deciding.orders import FiringOrder
from lifecycle.runtime.results import Fired
from lifecycle.runtime.writing import announcements, frames, rows
from lifecycle.store import enqueueing, history, lives, moving, parameters, records, transactions
from lifecycle.store.record_keys import RecordKey


def fire_in_transaction(order: FiringOrder, key: RecordKey, edits: expectations.Edits = expectations.NO_EDITS) -> Fired:
    """The order of events of one firing; must be called inside ``transactions.atomic(key.using)``."""
    using = key.using
    record, now = records.lock(order.definition, key.pk, using)
    expectations.refuse_edits(order.definition, record, edits)
    if records.version_of(order.definition, record) == 0 and not order.follows_run:
        lives.begin_saved(order.definition, record, key, now)
    repeat = repeated(order, record, key)
    if repeat is not None:
        return repeat
    expectations.refuse_if_moved(order, record, key)
    ctx = context(order, record, now, key)
    if is_already_there(order, ctx):
        return Fired(record=record, entry=history.latest(key), replayed=True)
    ctx, accepted = decide(order, ctx)
    ctx = replace(ctx, target=rows.route(order.definition, order.transition, ctx))
    changes = rows.changes(order.definition, order.transition, ctx, accepted)
    hooks = hooks_of(order, ctx)
    previous = moving.values(record) if hooks else None
    moving.move(order.definition, record, changes, str(ctx.target), now, using)
    entry = history.append(entry_of(order, ctx, records.version_of(order.definition, record)), using)
    return finish(order, replace(ctx, entry=entry, previous=previous), hooks, using)


def hooks_of(order: FiringOrder, ctx: TransitionContext[Any]) -> list[Hook]:
    """The hooks of one firing in their order: leaving, the transition's own, entering."""
    definition = order.definition
    return [
        *definition.leave_hooks.get(ctx.source or "", ()),
        *order.transition.hooks,
        *definition.enter_hooks.get(ctx.target or "", ()),
    ]


def finish(order: FiringOrder, ctx: TransitionContext[Any], hooks: list[Hook], using: str) -> Fired:
    """Hooks, pending runs, signals and wake-ups of a transition whose record and entry are written."""
    definition, entry, record = order.definition, ctx.entry, ctx.record
    announcement = announcements.register(definition, record, using)
    moved_on = run_hooks(hooks, ctx, definition, using)
    announcement.of(entry)
    enqueued = enqueue(definition, entry, ctx, order.transition.effects, using, entering=not moved_on)
    if moved_on:
        record, _ = records.lock(definition, record.pk, using)
    return Fired(record=record, entry=entry, runs=tuple(enqueued))


def enqueue(
    definition: Definition,
    entry: TransitionLog,
    ctx: TransitionContext[Any],
    effects: tuple[str, ...],
    using: str,
    *,
    entering: bool,
) -> list[Any]:
    """Writes what an entry enqueues in one statement and sees to it that workers are woken after the commit."""
    runs = rows.runs_to_enqueue(definition, entry, ctx, transition_effects=effects, entering=entering)
    if not runs:
        return []
    enqueued = enqueueing.enqueue(runs, using)
    after_commit.wake(using, {run.queue for run in enqueued if run.available_at <= entry.at})
    return enqueued


def run_hooks(hooks: list[Hook], ctx: TransitionContext[Any], definition: Definition, using: str) -> bool:
    """Calls the hooks in order; stops, answering True, as soon as one moved its own record on."""
    with frames.entered(ctx.key) as frame:
        for hook in hooks:
            with transactions.noticing_deadlocks(using):
                hook.call(ctx)
            transactions.must_stand(using, f"The hook '{hook.name}' of '{definition.name}.{ctx.transition}'")
            if frame.passed:
                # A nested firing may have been undone by the hook itself; the row says which.
                frame.passed = False
                if history.has_moved_on(ctx.entry, using):
                    return True
    return False


def repeated(order: FiringOrder, record: Any, key: RecordKey) -> Fired | None:
    """The first answer, if this request id was spent on the very same request.

    Raises:
        RequestReused: it was spent on another.
    """
    if order.request_id is None:
        return None
    entry = history.find_request(key, order.request_id)
    if entry is None:
        return None
    if not lives.is_of_this_life(entry):
        raise requests.of_another_life(entry)
    if not order.request_id.startswith(requests.RESERVED):
        requests.must_be_repeat(entry, order.transition.name, order.actor, order.request_hashes)
    return Fired(record=record, entry=entry, replayed=True)


def context(order: FiringOrder, record: Any, now: dt.datetime, key: RecordKey) -> TransitionContext[Any]:
    """What guards, routes, sets and hooks get to see."""
    return TransitionContext(
        record=record,
        actor=order.actor,
        transition=order.transition.name,
        source=records.state_of(order.definition, record),
        now=now,
        input=order.input,
        load_parameters=lambda: parameters.read(order.definition, key.using),
        reason=order.reason,
        request_id=order.request_id,
        using=key.using,
        key=key,
    )


def is_already_there(order: FiringOrder, ctx: TransitionContext[Any]) -> bool:
    """Whether ``on_same="ok"`` makes this a no-op: the record is in the target already, and the actor may fire it."""
    edge = order.transition
    if not evaluator.already_there(edge, ctx):
        return False
    refusals = evaluator.permissions(order.definition, edge, ctx)
    if refusals:
        raise evaluator.refused(order.definition, edge, ctx.key.record_id, refusals)
    return True


def decide(order: FiringOrder, ctx: TransitionContext[Any]) -> tuple[TransitionContext[Any], dict[str, Any]]:
    """Asks everything that may say no; answers the context with the cleaned input, and the accepted columns.

    Raises:
        PermissionRefused, WrongState, InvalidInput, GuardRefused: in this order, each with all of its reasons.
    """
    definition, edge, record_id = order.definition, order.transition, ctx.key.record_id
    refusals = evaluator.state_and_permission(definition, edge, ctx)
    if refusals:
        raise evaluator.refused(definition, edge, record_id, refusals)
    cleaned = inputs.clean(edge, ctx.record, order.input, manual=order.manual, using=ctx.using)
    if cleaned.problems:
        raise InvalidInput(
            " ".join(str(problem) for problem in cleaned.problems),
            problems=cleaned.problems,
            lifecycle=definition.name,
            record_id=record_id,
            transition=edge.name,
        )
    if cleaned.values != ctx.input:
        ctx = replace(ctx, input=cleaned.values)
    refusals = evaluator.guards(definition, edge, ctx)
    if refusals:
        raise evaluator.refused(definition, edge, record_id, refusals)
    return ctx, cleaned.changes


def entry_of(order: FiringOrder, ctx: TransitionContext[Any], version: int) -> TransitionLog:
    """The entry of this firing, not yet written."""
    return rows.entry(
        order.definition,
        ctx,
        target=ctx.target or "",
        version=version,
        stored_input=order.stored_input,
        request_hash=order.request_hashes[0] if order.request_hashes else "",
    )
