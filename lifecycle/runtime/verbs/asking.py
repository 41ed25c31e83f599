"""Asking: what may be fired, and every reason why not — by the evaluator that fire itself obeys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django.db import router

from lifecycle import registry
from lifecycle.actors import Actor, as_actor
from lifecycle.definition.compiled import CompiledTransition, Definition
from lifecycle.definition.contexts import TransitionContext
from lifecycle.definition.transitions import Transition
from lifecycle.refusals import Verdict
from lifecycle.runtime.deciding import evaluator, inputs, orders
from lifecycle.runtime.results import Availability
from lifecycle.store import parameters as stored_parameters
from lifecycle.store import records, timing


def can(
    record: Any,
    transition: Transition | str,
    *,
    actor: Any,
    input: Mapping[str, Any] | None = None,
    manual: bool = False,
    lifecycle: Any = None,
) -> Verdict:
    """Whether `fire` would move this record, with every refusal. Asks the instance as it is; writes nothing.

    Without ``input`` the form is not asked and guards see an empty input: the answer for a button. With ``input``, the
    answer for exactly that call; ``problems`` then has what is wrong with it.

    Raises:
        UnknownTransition: with the nearest right name. (A refusal is never raised here.)
    """
    definition = registry.of(lifecycle if lifecycle is not None else record)
    edge = orders.named(definition, transition)
    if manual and not edge.manual:
        return Verdict(allowed=False, refusals=(orders.not_manual_refusal(edge),))
    return _verdict(definition, _context(definition, record, edge, as_actor(actor)), edge, input, manual=manual)


def _verdict(
    definition: Definition, ctx: TransitionContext[Any], edge: CompiledTransition, input: Any, *, manual: bool
) -> Verdict:
    if evaluator.already_there(edge, ctx):
        refusals = evaluator.permissions(definition, edge, ctx)
        return Verdict(allowed=not refusals, refusals=tuple(refusals))
    refusals = evaluator.state_and_permission(definition, edge, ctx)
    if refusals:
        return Verdict(allowed=False, refusals=tuple(refusals))
    if input is not None:
        given, _, _ = orders.read_input(definition, edge, input)
        cleaned = inputs.clean(edge, ctx.record, given, manual=manual, using=ctx.using)
        if cleaned.problems:
            return Verdict(allowed=False, problems=tuple(cleaned.problems))
        ctx = replace(ctx, input=cleaned.values)
    refusals = evaluator.guards(definition, edge, ctx)
    return Verdict(allowed=not refusals, refusals=tuple(refusals))


def available(
    record: Any, *, actor: Any, lifecycle: Any = None, load_parameters: Callable[[], Any] | None = None
) -> list[Availability]:
    """Every manual transition that starts in the record's state: allowed, or with all reasons why not.

    Args:
        load_parameters: called by guards that want the parameters; for a list of records, which reads them once.
    """
    definition = registry.of(lifecycle if lifecycle is not None else record)
    who = as_actor(actor)
    return [
        _availability(definition, edge, _context(definition, record, edge, who, load_parameters))
        for edge in definition.leaving(records.state_of(definition, record))
        if edge.manual
    ]


def parameters(lifecycle: Any, *, using: str | None = None) -> Any:
    """A lifecycle's parameters as they are now: the declaration's defaults under the operators' overrides.

    Args:
        lifecycle: its name, class, model or one of its records.
        using: the database; by default where the router reads the model from.

    Returns:
        An instance of the declaration's ``Parameters``; None for a lifecycle without.
    """
    definition = registry.of(lifecycle)
    return stored_parameters.read(definition, using or router.db_for_read(definition.model))


def _availability(definition: Definition, edge: CompiledTransition, ctx: TransitionContext[Any]) -> Availability:
    verdict = _verdict(definition, ctx, edge, None, manual=True)
    return Availability(
        name=edge.name,
        label=edge.label,
        description=edge.description,
        targets=edge.targets,
        allowed=verdict.allowed,
        refusals=verdict.refusals,
        meta=edge.meta,
        form=edge.form,
    )


def _context(
    definition: Definition,
    record: Any,
    edge: CompiledTransition,
    actor: Actor,
    load_parameters: Callable[[], Any] | None = None,
) -> TransitionContext[Any]:
    using = record._state.db or "default"
    return TransitionContext(
        record=record,
        actor=actor,
        transition=edge.name,
        source=records.state_of(definition, record),
        now=timing.approximately(using),
        load_parameters=load_parameters or (lambda: stored_parameters.read(definition, using)),
        using=using,
    )
