"""Wiring: which question or hook of a transition or state a function answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MethodType
from typing import Any, Literal, TypeVar, overload

from lifecycle.definition.callables import takes_owner, unwrapped
from lifecycle.definition.declared import UNSET, Declared, given
from lifecycle.definition.states import flat
from lifecycle.refusals import Kind

F = TypeVar("F", bound=Callable[..., Any])
Role = Literal["guard", "set", "route", "hook", "enter", "leave"]


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """One thing a function is asked for. ``on`` are transitions (states for ``enter`` and ``leave``), as declared."""

    role: Role
    on: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    unknown: Mapping[str, Any] = field(default_factory=dict)


class Wired(Declared):
    """A function of a lifecycle that is asked by name; on an instance it is the bound method it was written as."""

    word = "wired function"
    function: Callable[..., Any]
    owned: bool  # written as (self, ctx) rather than (ctx)
    wirings: tuple[Wiring, ...]

    def __init__(self, function: Any, wirings: tuple[Wiring, ...]) -> None:
        plain = unwrapped(function)
        self._fill(
            function=plain,
            wirings=wirings,
            name=getattr(plain, "__name__", ""),
            attribute="",
            __doc__=getattr(plain, "__doc__", None),
            __wrapped__=plain,
            owned=callable(plain) and takes_owner(plain),
        )

    def with_function(self, function: Any) -> Wired:
        """The same wirings on an overriding function."""
        made = Wired(function, self.wirings)
        made._fill(attribute=self.attribute, name=self.name)
        return made

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return MethodType(self.function, instance) if self.owned else self.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def wire(function: Any, wiring: Wiring) -> Any:
    """Adds a wiring to a function, which may be wired already."""
    if isinstance(function, Wired):
        return Wired(function.function, (*function.wirings, wiring))
    return Wired(function, (wiring,))


def decorator(role: Role, on: Any, options: Mapping[str, Any], unknown: Mapping[str, Any]) -> Callable[[F], F]:
    """What ``@ship.guard(…)``, ``@on_enter(…)`` and their like return."""
    wiring = Wiring(role=role, on=tuple(flat(on)), options=options, unknown=unknown)
    return lambda function: wire(function, wiring)


@overload
def guard(function: F, /) -> F: ...
@overload
def guard(
    function: None = None, /, *, on: Any, code: str = ..., message: Any = ..., kind: Kind = ...
) -> Callable[[F], F]: ...
def guard(
    function: Any = None,
    /,
    *,
    on: Any = (),
    code: str = UNSET,
    message: Any = UNSET,
    kind: Kind = UNSET,
    **unknown: Any,
) -> Any:
    """A guard of several transitions, of all (``on=ANY``), or of creation (``on=CREATE``).

    Args:
        on: a transition, a list of them, `ANY`, ``ANY_EXCEPT(…)`` or `CREATE`; as objects or names.
        code: the refusal's code, if the function returns False or a message.
        message: the refusal's sentence, if the function returns False.
        kind: ``precondition`` (the record would have to change) or ``permission`` (somebody else may fire it).
    """
    made: Callable[[Any], Any] = decorator("guard", on, given(code=code, message=message, kind=kind), unknown)
    return made if function is None else made(function)


def on_enter(*states: Any) -> Callable[[F], F]:
    """A hook called inside the transaction whenever one of these states is entered, creation included."""
    return decorator("enter", states, {}, {})


def on_leave(*states: Any) -> Callable[[F], F]:
    """A hook called inside the transaction whenever one of these states is left."""
    return decorator("leave", states, {}, {})
