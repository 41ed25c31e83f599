"""The evaluator: one answer to "may this be fired?", for buttons and clicks alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.functional import Promise

from lifecycle.definition.compiled import CompiledTransition, Definition, Guard
from lifecycle.definition.contexts import TransitionContext
from lifecycle.exceptions import GuardRefused, PermissionRefused, Refused, WrongState
from lifecycle.refusals import Refusal, Refuse
from lifecycle.runtime.deciding import added_guards, sentences


def state_and_permission(
    definition: Definition, edge: CompiledTransition, ctx: TransitionContext[Any]
) -> list[Refusal]:
    """What is refused before input and guards are looked at: the wrong state, a missing permission."""
    refusals = [] if ctx.source in edge.sources else [_wrong_state(definition, edge, ctx.source)]
    return [*refusals, *permissions(definition, edge, ctx)]


def permissions(definition: Definition, edge: CompiledTransition, ctx: TransitionContext[Any]) -> list[Refusal]:
    """The permissions this actor is missing; only people are asked for any."""
    if not ctx.actor.is_person:
        return []
    asked = [_permission(definition, edge, permission, ctx) for permission in edge.permissions]
    return [refusal for refusal in asked if refusal is not None]


def already_there(edge: CompiledTransition, ctx: TransitionContext[Any]) -> bool:
    """Whether ``on_same="ok"`` makes a firing a no-op: the record is where the transition would lead."""
    return edge.on_same == "ok" and ctx.source == edge.target and ctx.source not in edge.sources


def guards(definition: Definition, edge: CompiledTransition, ctx: TransitionContext[Any]) -> list[Refusal]:
    """Every refusing guard, the declaration's and those other apps added."""
    asked: Sequence[Guard] = (*edge.guards, *added_guards.of(definition.name, edge.name))
    return [refusal for guard in asked if (refusal := ask(guard, ctx, edge.label)) is not None]


def refused(definition: Definition, edge: CompiledTransition | str, record_id: str, refusals: list[Refusal]) -> Refused:
    """The error that fits a list of refusals: a missing permission outweighs a wrong state, that outweighs guards."""
    facts: dict[str, Any] = {
        "lifecycle": definition.name,
        "record_id": record_id,
        "transition": edge if isinstance(edge, str) else edge.name,
    }
    for refusal in refusals:
        if refusal.kind == "permission":
            code = refusal.code if refusal.source in ("permission", "manual") else "permission_denied"
            return PermissionRefused(str(refusal), code=code, refusals=refusals, **facts)
    for refusal in refusals:
        if refusal.source == "state":
            return WrongState(str(refusal), refusals=refusals, **facts)
    sentence = " ".join(str(refusal) for refusal in refusals)
    return GuardRefused(sentence, code=refusals[0].code, refusals=refusals, **facts)


def ask(guard: Guard, ctx: TransitionContext[Any], label: Any) -> Refusal | None:
    """One guard's answer as a refusal, or None when it allows. What a guard raises propagates: it is a bug.

    ``label`` names the transition where the guard leaves the sentence to us.
    """
    answer = guard.ask(ctx)
    if answer is True:
        return None
    if answer is False:
        if guard.message:
            return _refusal(guard, guard.code, guard.message, guard.kind, {})
        message = sentences.does_not_hold(label, guard.name)
        params = {"transition": ctx.transition, "guard": guard.name}
        return _refusal(guard, guard.code, message, guard.kind, params)
    if isinstance(answer, Refuse):
        return _refusal(guard, answer.code, answer.message, answer.kind, answer.params)
    if isinstance(answer, (str, Promise)) and answer:
        return _refusal(guard, guard.code, answer, guard.kind, {})
    raise TypeError(
        f"The guard '{guard.name}' answered {answer!r}: expected True, False, a message or Refuse(code, message)."
    )


def _refusal(guard: Guard, code: str, message: Any, kind: Any, params: dict[str, Any]) -> Refusal:
    return Refusal(source="guard", kind=kind, code=code, message=message, name=guard.name, params=params)


def _wrong_state(definition: Definition, edge: CompiledTransition, source: str | None) -> Refusal:
    state = definition.states.get(source or "")
    name = state.label if state is not None else sentences.unknown_state(source)
    starts = [one.label for key, one in definition.states.items() if key in edge.sources]
    return Refusal(
        source="state",
        kind="precondition",
        code="invalid_state",
        message=sentences.starts_elsewhere(edge.label, starts, name),
        name=edge.name,
        params={
            "transition": edge.name,
            "state": source,
            "sources": [key for key in definition.states if key in edge.sources],
        },
    )


def _permission(
    definition: Definition, edge: CompiledTransition, permission: Any, ctx: TransitionContext[Any]
) -> Refusal | None:
    if isinstance(permission, str):
        codename = permission if "." in permission else f"{definition.model._meta.app_label}.{permission}"
        if ctx.user is not None and (ctx.user.has_perm(codename) or ctx.user.has_perm(codename, ctx.record)):
            return None
        return _missing(edge, codename)
    name = getattr(permission, "__name__", "permission")
    asked = Guard(name=name, ask=permission, code="permission_denied", kind="permission", message=None)
    answer = ask(asked, ctx, edge.label)
    if answer is None:
        return None
    message = answer.message if answer.code != "permission_denied" else _missing(edge, name).message
    return Refusal(
        source="permission", kind="permission", code=answer.code, message=message, name=name, params=answer.params
    )


def _missing(edge: CompiledTransition, name: str) -> Refusal:
    return Refusal(
        source="permission",
        kind="permission",
        code="permission_denied",
        message=sentences.may_not_fire(edge.label),
        name=name,
        params={"transition": edge.name, "permission": name},
    )
