"""What a transition writes: the route, the changed columns, the entry, the pending runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.exceptions import FieldDoesNotExist

from lifecycle import tracing
from lifecycle.conf import options
from lifecycle.definition.compiled import CompiledEffect, CompiledTransition, Definition
from lifecycle.definition.contexts import TransitionContext
from lifecycle.exceptions import InvalidRoute, InvalidSet
from lifecycle.models import Run, TransitionLog
from lifecycle.store import enqueueing, readable
from lifecycle.suggest import did_you_mean


def route(definition: Definition, edge: CompiledTransition, ctx: TransitionContext[Any]) -> str:
    """The state the transition leads to for this record.

    Raises:
        InvalidRoute: the route answered a state that is not among the targets.
    """
    if edge.route is None:
        return edge.target
    answer = edge.route(ctx)
    target = str(getattr(answer, "value", answer))
    if target not in edge.targets:
        raise InvalidRoute(
            f"The route of '{edge.name}' answered {answer!r}; its targets are {', '.join(edge.targets)}.",
            lifecycle=definition.name,
            record_id=ctx.key.record_id,
            transition=edge.name,
        )
    return target


def changes(
    definition: Definition, edge: CompiledTransition, ctx: TransitionContext[Any], accepted: Mapping[str, Any]
) -> dict[str, Any]:
    """The record's columns to write: accepted input first, then what the sets answer (sets win).

    Raises:
        InvalidSet: a set answered something else than a dict of the record's own columns.
    """
    result = dict(accepted)
    for call in edge.sets:
        answer = call(ctx)
        if answer is None:
            continue
        name = getattr(call, "__name__", "set")
        if not isinstance(answer, Mapping):
            raise _invalid_set(
                definition, edge, f"'{name}' answered {answer!r:.80}; expected a dict of columns or None."
            )
        for key, value in answer.items():
            field = _settable(definition, edge, name, key)
            if field.is_relation and hasattr(value, "_meta"):
                value = getattr(value, field.target_field.attname)
            value = readable.as_kept(field, value)
            complaint = readable.complaint(field, value, ctx.using)
            if complaint is not None:
                raise _invalid_set(definition, edge, f"'{name}' answered {value!r:.80} for '{key}'. {complaint}")
            result[field.attname] = value
    return result


def _settable(definition: Definition, edge: CompiledTransition, name: str, key: Any) -> Any:
    meta = definition.model._meta
    try:
        field = meta.get_field(key)
    except FieldDoesNotExist:
        known = [field.name for field in meta.concrete_fields]
        wrong = f"'{name}' answered '{key}', which is no column of {meta.object_name}. {did_you_mean(key, known)}"
        raise _invalid_set(definition, edge, wrong) from None
    if not getattr(field, "concrete", False) or field.many_to_many:
        raise _invalid_set(definition, edge, f"'{name}' answered '{key}', which is no column of its own table.")
    if field.primary_key or hasattr(field, "stands_for"):
        wrong = f"'{name}' answered '{key}', which only the runtime writes. Name the target state in the transition."
        raise _invalid_set(definition, edge, wrong)
    return field


def _invalid_set(definition: Definition, edge: CompiledTransition, message: str) -> InvalidSet:
    return InvalidSet(f"set of '{edge.name}': {message}", lifecycle=definition.name, transition=edge.name)


def entry(
    definition: Definition,
    ctx: TransitionContext[Any],
    *,
    target: str,
    version: int,
    stored_input: Mapping[str, Any],
    request_hash: str = "",
) -> TransitionLog:
    """The history row of a transition, not yet written."""
    return TransitionLog(
        lifecycle=definition.name,
        record_id=ctx.key.record_id,
        transition=ctx.transition,
        source=ctx.source,
        target=target,
        version=version,
        actor_kind=ctx.actor.kind,
        actor_id=ctx.actor.id[:255],
        actor_label=str(ctx.actor.label)[:150],
        input=stored_input,
        reason=ctx.reason,
        request_id=ctx.request_id,
        request_hash=request_hash,
        definition_hash=definition.hash,
        at=ctx.now,
    )


def runs_to_enqueue(
    definition: Definition,
    written: TransitionLog,
    ctx: TransitionContext[Any],
    *,
    transition_effects: Sequence[str],
    entering: bool,
) -> list[Run]:
    """What an entry enqueues: the transition's effects, then (``entering``) those of the state and its reminders."""
    runs = [_run(definition, definition.effects[name], written, bound=False) for name in transition_effects]
    if entering:
        target = written.target
        names = definition.enter_effects.get(target, ())
        runs += [_run(definition, definition.effects[name], written, bound=True) for name in names]
        runs += _reminders(definition, written, ctx)
    return runs


def _reminders(definition: Definition, written: TransitionLog, ctx: TransitionContext[Any]) -> Iterable[Run]:
    for reminder in definition.reminders.values():
        if written.target in reminder.when:
            run = _run(definition, definition.effects[reminder.effect], written, bound=True)
            run.stay_version = written.version
            run.reminder = reminder.name
            run.available_at = written.at + reminder.after(ctx.parameters)
            yield run


def _run(definition: Definition, effect: CompiledEffect, written: TransitionLog, *, bound: bool) -> Run:
    chosen = options()
    stay = effect.stay_bound if effect.stay_bound is not None else bound
    return Run(
        entry=written,
        lifecycle=written.lifecycle,
        record_id=written.record_id,
        effect=effect.name,
        queue=effect.queue or definition.queue,
        stay_version=written.version if stay else None,
        available_at=written.at + effect.delay,
        max_attempts=effect.retry.attempts,
        max_crashes=chosen.max_crashes,
        lease_seconds=enqueueing.lease_seconds(effect),
        marks_entry=effect.marks_entry,
        trace_context=tracing.carried(),
        created_at=written.at,
        updated_at=written.at,
    )
