"""Effect: a side effect that is executed after the commit, as declared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, overload

from lifecycle.definition.callables import takes_owner, unwrapped
from lifecycle.definition.declared import UNSET, Declared, given
from lifecycle.definition.retries import Retry
from lifecycle.definition.states import flat

# The options of an effect that may be given in `effect(…)` and in `@transition.effect(…)`.
OPTIONS = (
    "name",
    "retry",
    "timeout",
    "heartbeat_timeout",
    "lease",
    "queue",
    "on_success",
    "on_failure",
    "on_dead",
    "atomic",
    "stay_bound",
    "only_during_stay",
    "delay",
)


class Effect(Declared):
    """Work as declared; on an instance of the lifecycle it is the bound method it was written as.

    ``name`` is the stable key stored in rows: the option, else the attribute's name.
    """

    word = "effect"
    function: Callable[..., Any]
    owned: bool  # written as (self, ctx) rather than (ctx)
    on: tuple[Any, ...]
    on_enter: tuple[Any, ...]

    def __init__(
        self,
        function: Any,
        *,
        on: tuple[Any, ...] = (),
        on_enter: tuple[Any, ...] = (),
        options: Mapping[str, Any],
        unknown: Mapping[str, Any],
    ) -> None:
        plain = unwrapped(function)
        self._fill(
            function=plain,
            on=on,
            on_enter=on_enter,
            options=dict(options),
            unknown=dict(unknown),
            name=_named(options) or getattr(plain, "__name__", ""),
            attribute="",
            __doc__=getattr(plain, "__doc__", None),
            __wrapped__=plain,
            owned=callable(plain) and takes_owner(plain),
        )

    def __set_name__(self, owner: type, name: str) -> None:
        if not self.attribute:
            self._fill(attribute=name, name=_named(self.options) or name)

    def with_function(self, function: Any) -> Effect:
        """The same wiring and options on an overriding function."""
        made = Effect(function, on=self.on, on_enter=self.on_enter, options=self.options, unknown=self.unknown)
        made._fill(attribute=self.attribute, name=self.name)
        return made

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Effect: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return MethodType(self.function, instance) if self.owned else self.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def _named(options: Mapping[str, Any]) -> str:
    """The name an effect is given; one that is no text is reported by the compiler, with all other problems."""
    name = options.get("name")
    return name if isinstance(name, str) else ""


def enqueue(
    function: Any,
    *,
    on: tuple[Any, ...] = (),
    on_enter: tuple[Any, ...] = (),
    options: Mapping[str, Any],
    unknown: Mapping[str, Any],
) -> Effect:
    """Makes a function an effect; one that is an effect already gets further owners and options."""
    if isinstance(function, Effect):
        return Effect(
            function.function,
            on=(*function.on, *on),
            on_enter=(*function.on_enter, *on_enter),
            options={**function.options, **options},
            unknown={**function.unknown, **unknown},
        )
    return Effect(function, on=on, on_enter=on_enter, options=options, unknown=unknown)


@overload
def effect(function: Callable[..., Any], /) -> Effect: ...
@overload
def effect(
    function: None = None,
    /,
    *,
    on: Any = (),
    on_enter: Any = (),
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
def effect(
    function: Any = None,
    /,
    *,
    on: Any = (),
    on_enter: Any = (),
    name: str = UNSET,
    retry: Retry = UNSET,
    timeout: dt.timedelta | None = UNSET,
    heartbeat_timeout: dt.timedelta = UNSET,
    lease: dt.timedelta = UNSET,
    queue: str = UNSET,
    on_success: Any = UNSET,
    on_failure: Any = UNSET,
    on_dead: Any = UNSET,
    atomic: bool = UNSET,
    stay_bound: bool = UNSET,
    only_during_stay: bool = UNSET,
    delay: dt.timedelta = UNSET,
    **unknown: Any,
) -> Any:
    """Declares work that is enqueued by transitions or by entering a state, and done after commit.

    Args:
        on: the transitions that enqueue it, as objects or names.
        on_enter: the states that enqueue it when they are entered. The run is bound to the stay, see ``stay_bound``.
        name: the name that is stored in rows and must not change (default: the attribute's name).
        retry: when a failed attempt is repeated (default: one attempt).
        timeout: how long one attempt may take (default: 60 seconds); None: no limit.
        heartbeat_timeout: the longest time between two calls of ``ctx.heartbeat()``; after a longer time the
            attempt ends like after a timeout (default: no limit).
        lease: how soon a lost worker is noticed (default: the setting ``LEASE``). Workers renew it by themselves, so
            the effect may take longer.
        queue: the queue it waits in (default: the lifecycle's).
        on_success: the transition that is fired with its result.
        on_failure: the transition that is fired when its last attempt has failed.
        on_dead: the transition that is fired when too many starts have crashed (default: ``on_failure``).
        atomic: True for an effect that writes only to this database. It commits together with its outcome.
        stay_bound: whether its follow-up belongs to the stay (default: True for ``on_enter``, False for ``on``). If the
            record has left the state meanwhile, the effect is called all the same, but its ``on_success`` or
            ``on_failure`` is dropped.
        only_during_stay: True for an effect that makes no sense once the record has left the state. Then it is not
            called, and its run is cancelled (default: False). Checked right before each attempt.
        delay: how long after the commit it becomes due.
    """
    options = given(
        name=name,
        retry=retry,
        timeout=timeout,
        heartbeat_timeout=heartbeat_timeout,
        lease=lease,
        queue=queue,
        on_success=on_success,
        on_failure=on_failure,
        on_dead=on_dead,
        atomic=atomic,
        stay_bound=stay_bound,
        only_during_stay=only_during_stay,
        delay=delay,
    )

    def decorate(wrapped: Any) -> Effect:
        return enqueue(wrapped, on=tuple(flat(on)), on_enter=tuple(flat(on_enter)), options=options, unknown=unknown)

    return decorate if function is None else decorate(function)
