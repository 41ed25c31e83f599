"""Transition: an edge with a name, as declared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Never, TypeVar, overload

from lifecycle.definition.declared import UNSET, Declared, given
from lifecycle.definition.effects import OPTIONS as EFFECT_OPTIONS
from lifecycle.definition.effects import Effect, enqueue
from lifecycle.definition.retries import Retry
from lifecycle.definition.wirings import decorator
from lifecycle.refusals import Kind

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = (
    "label",
    "description",
    "permission",
    "form",
    "accept",
    "secrets",
    "manual",
    "effects",
    "guards",
    "set",
    "route",
    "hooks",
    "on_same",
    "meta",
)


class Transition(Declared):
    """An edge of the process. Its name is the attribute it is assigned to.

    Args:
        source: a state, a list of states, `ANY` (every state that is not final) or ``ANY_EXCEPT(…)``.
        target: the state it leads to. If there are several, a ``route`` chooses.
        label: what people read on the button; may be a lazy translation.
        description: one more sentence about it.
        permission: a permission codename (``"orders.ship_order"``), a callable, or a list of which all must agree.
        form: a Django form class that validates and cleans the input.
        accept: names of record fields that are taken from the input.
        secrets: input keys whose values are redacted in the history.
        manual: False if only code on the server may fire it.
        effects: effects it enqueues, as objects or names.
        guards: yes/no questions, as methods, functions or dotted paths.
        set: one or more callables that return column values.
        route: the callable that chooses among several targets.
        hooks: callables that run inside the transaction, after the record and the entry are written.
        on_same: with ``"ok"``, firing it in its target state does nothing, instead of being refused.
        meta: data for pages (tone, confirmation), which must fit into JSON.
    """

    word = "transition"
    source: Any
    target: Any

    def __init__(
        self,
        source: Any,
        target: Any,
        *,
        label: Any = UNSET,
        description: Any = UNSET,
        permission: Any = UNSET,
        form: Any = UNSET,
        accept: str | Iterable[str] = UNSET,
        secrets: str | Iterable[str] = UNSET,
        manual: bool = UNSET,
        effects: Any = UNSET,
        guards: Any = UNSET,
        set: Any = UNSET,
        route: Any = UNSET,
        hooks: Any = UNSET,
        on_same: Literal["refuse", "ok"] = UNSET,
        meta: Mapping[str, Any] = UNSET,
        **unknown: Never,
    ) -> None:
        options = given(
            label=label,
            description=description,
            permission=permission,
            form=form,
            accept=accept,
            secrets=secrets,
            manual=manual,
            effects=effects,
            guards=guards,
            set=set,
            route=route,
            hooks=hooks,
            on_same=on_same,
            meta=meta,
        )
        self._fill(source=source, target=target, options=options, unknown=unknown, name="", attribute="")

    @overload
    def guard(self, function: F, /) -> F: ...
    @overload
    def guard(
        self, function: None = None, /, *, code: str = ..., message: Any = ..., kind: Kind = ...
    ) -> Callable[[F], F]: ...
    def guard(
        self,
        function: Any = None,
        /,
        *,
        code: str = UNSET,
        message: Any = UNSET,
        kind: Kind = UNSET,
        **unknown: Any,
    ) -> Any:
        """A yes/no question asked before this transition; see `lifecycle.guard` for the options."""
        made: Callable[[Any], Any] = decorator("guard", self, given(code=code, message=message, kind=kind), unknown)
        return made if function is None else made(function)

    def set(self, function: F, /) -> F:
        """A function that returns the column values this transition writes."""
        return decorator("set", self, {}, {})(function)

    def route(self, function: F, /) -> F:
        """The function that chooses one of this transition's targets."""
        return decorator("route", self, {}, {})(function)

    def hook(self, function: F, /) -> F:
        """A function called inside the transaction, after the record and the entry are written."""
        return decorator("hook", self, {}, {})(function)

    @overload
    def effect(self, function: Callable[..., Any], /) -> Effect: ...
    @overload
    def effect(
        self,
        function: None = None,
        /,
        *,
        name: str = ...,
        retry: Retry = ...,
        timeout: dt.timedelta | None = ...,
        heartbeat_timeout: dt.timedelta = ...,
        lease: dt.timedelta = ...,
        queue: str = ...,
        on_success: Any = ...,
        on_failure: Any = ...,
        on_dead: Any = ...,
        atomic: bool = ...,
        stay_bound: bool = ...,
        only_during_stay: bool = ...,
        delay: dt.timedelta = ...,
    ) -> Callable[[Callable[..., Any]], Effect]: ...
    def effect(self, function: Any = None, /, **options: Any) -> Any:
        """Effects enqueued by this transition; see `lifecycle.effect` for the options."""
        good = {name: value for name, value in options.items() if name in EFFECT_OPTIONS}
        unknown = {name: value for name, value in options.items() if name not in EFFECT_OPTIONS}

        def decorate(wrapped: Any) -> Effect:
            return enqueue(wrapped, on=(self,), options=good, unknown=unknown)

        return decorate if function is None else decorate(function)
