"""FiringOrder: one firing as asked for, checked for everything that can be known before a row is read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lifecycle import payloads
from lifecycle.actors import Actor, as_actor
from lifecycle.conf import options
from lifecycle.definition.compiled import CompiledTransition, Definition
from lifecycle.exceptions import InvalidInput, InvalidPayload, PermissionRefused, UnknownTransition
from lifecycle.refusals import InputProblem, Refusal
from lifecycle.runtime.deciding import requests, sentences
from lifecycle.suggest import did_you_mean

MAX_REASON = 500


@dataclass(frozen=True, kw_only=True)
class FiringOrder:
    """Who fires what with which input. ``stored_input`` is the input as history keeps it: JSON, secrets redacted."""

    definition: Definition
    transition: CompiledTransition
    actor: Actor
    input: Mapping[str, Any] = field(default_factory=dict)
    stored_input: Mapping[str, Any] = field(default_factory=dict)
    request_id: str | None = None
    request_hashes: tuple[str, ...] = ()  # the one to keep, then those that a repeat may have as well
    expect_version: int | None = None
    expect_changed_before: dt.datetime | None = None
    stay_version: int | None = None
    manual: bool = False
    reason: str = ""
    follows_run: bool = False


def take(
    definition: Definition,
    transition: Any,
    *,
    actor: Any,
    input: Any = None,
    request_id: str | None = None,
    expect_version: int | None = None,
    expect_changed_before: dt.datetime | None = None,
    stay_version: int | None = None,
    manual: bool = False,
    reason: str = "",
    reserved: bool = False,
    keyed: bool = False,
    follows_run: bool = False,
) -> FiringOrder:
    """Makes an order of a caller's arguments; ``keyed``: request ids follow, one per record.

    Raises:
        TypeError: no actor, or arguments of a type that no data could have.
        UnknownTransition: with the nearest right name.
        InvalidInput: the input is no mapping, not JSON, or too large; the request id may not be used.
        PermissionRefused: ``manual`` and the transition is the system's own.
    """
    who = as_actor(actor)
    edge = named(definition, transition)
    if manual and not edge.manual:
        raise not_manual(definition, edge)
    if request_id is not None and not reserved:
        requests.check(request_id)
    if expect_version is not None and (isinstance(expect_version, bool) or not isinstance(expect_version, int)):
        raise TypeError(f"expect_version: expected an int, got {expect_version!r}.")
    given, plain, stored = read_input(definition, edge, input)
    return FiringOrder(
        definition=definition,
        transition=edge,
        actor=who,
        input=given,
        stored_input=stored,
        request_id=request_id,
        request_hashes=requests.fingerprints(edge.name, who, plain, stored) if keyed or request_id is not None else (),
        expect_version=expect_version,
        expect_changed_before=expect_changed_before,
        stay_version=stay_version,
        manual=manual,
        reason=checked_reason(reason),
        follows_run=follows_run,
    )


def named(definition: Definition, transition: Any) -> CompiledTransition:
    """The transition that a name or a `Transition` object means.

    Raises:
        UnknownTransition: with the nearest right name and the list.
    """
    name = transition if isinstance(transition, str) else getattr(transition, "name", None)
    edge = definition.transitions.get(name) if isinstance(name, str) else None
    if edge is None:
        raise UnknownTransition(
            f"'{definition.name}' has no transition '{name or transition}'. "
            f"{did_you_mean(name, definition.transitions)}",
            lifecycle=definition.name,
            transition=str(name or transition),
        )
    return edge


def not_manual(definition: Definition, edge: CompiledTransition) -> PermissionRefused:
    """The error that people may not fire the system's own transitions."""
    refusal = not_manual_refusal(edge)
    return PermissionRefused(
        str(refusal.message),
        code="not_manual",
        refusals=[refusal],
        lifecycle=definition.name,
        transition=edge.name,
    )


def not_manual_refusal(edge: CompiledTransition) -> Refusal:
    """The same as a reason beside a button."""
    return Refusal(
        source="manual",
        kind="permission",
        code="not_manual",
        message=sentences.system_only(edge.label),
        name=edge.name,
        params={"transition": edge.name},
    )


def read_input(
    definition: Definition, edge: CompiledTransition, input: Any
) -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]:
    """The input as guards get it, as JSON, and as history stores it: JSON, secrets redacted."""
    if input is None or input == {}:
        return {}, {}, {}
    if not isinstance(input, Mapping):
        raise _wrong_input(definition, edge, "", "invalid", f"expected an object of named values, got {input!r:.80}.")
    try:
        plain = payloads.jsonable(input, what="input", limit=options().payload_limit)
    except InvalidPayload as error:
        path = str(error.facts.get("path", "")).removeprefix("$").removeprefix(".")
        raise _wrong_input(definition, edge, path, "invalid_payload", error.message) from error
    return dict(input), plain, payloads.redacted(plain, edge.secrets) if edge.secrets else plain


def checked_reason(reason: Any) -> str:
    """The reason as stored.

    Raises:
        InvalidInput: longer than the column, or with what no column takes.
    """
    text = str(reason or "")
    if len(text) > MAX_REASON:
        code, message = "max_length", f"at most {MAX_REASON} characters, got {len(text)}."
    elif (found := payloads.unstorable(text)) is not None:
        code, message = "invalid", f"holds {found}."
    else:
        return text
    raise InvalidInput(f"reason: {message}", problems=[InputProblem(field="reason", code=code, message=message)])


def _wrong_input(definition: Definition, edge: CompiledTransition, path: str, code: str, message: str) -> InvalidInput:
    return InvalidInput(
        f"input: {message}",
        problems=[InputProblem(field=path, code=code, message=message)],
        lifecycle=definition.name,
        transition=edge.name,
    )
