"""Added guards: questions that other apps ask of a transition they do not declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from lifecycle import registry
from lifecycle.definition.compiled import Definition, Guard
from lifecycle.definition.states import AnyExcept, Everything
from lifecycle.definition.transitions import Transition
from lifecycle.runtime.deciding import orders

_added: dict[tuple[str, str], list[Guard]] = {}


def register_guard(
    lifecycle: Any,
    transitions: Transition | str | Iterable[Transition | str] | Everything | AnyExcept,
    ask: Callable[[Any], Any],
    *,
    code: str = "guard_refused",
    message: Any = None,
    kind: Literal["permission", "precondition"] = "precondition",
) -> Callable[[], None]:
    """Adds a guard to a transition (or several, or `ANY` for all) of somebody else's lifecycle, in this process.

    Its refusals come after those of the declaration, in ``can`` and in ``fire`` alike.

    Args:
        lifecycle: its name, class or model.
        transitions: a transition or its name, several, `ANY` (or ``"*"``) for all, ``ANY_EXCEPT(…)`` for all others.
        ask: called with the same context as declared guards; the same answers.

    Returns:
        A function that takes the guard away again; calling it twice is harmless.

    Raises:
        UnknownLifecycle, UnknownTransition: with the nearest right name.
        TypeError: something else than transitions.
    """
    definition = registry.of(lifecycle)
    names = _named(definition, transitions)
    guard = Guard(name=getattr(ask, "__name__", "guard"), ask=ask, code=code, message=message, kind=kind)
    for name in names:
        _added.setdefault((definition.name, name), []).append(guard)

    def unregister() -> None:
        for name in names:
            there = _added.get((definition.name, name), [])
            _added[definition.name, name] = [one for one in there if one is not guard]

    return unregister


def _named(definition: Definition, transitions: Any) -> list[str]:
    if transitions == "*" or isinstance(transitions, Everything):
        return list(definition.transitions)
    if isinstance(transitions, AnyExcept):
        left_out = _named(definition, transitions.names)
        return [name for name in definition.transitions if name not in left_out]
    names = []
    several = isinstance(transitions, Iterable) and not isinstance(transitions, str)
    for one in transitions if several else [transitions]:
        if not isinstance(one, (str, Transition)):
            raise TypeError(
                f"register_guard: expected transitions of '{definition.name}' (objects or names), ANY or "
                f"ANY_EXCEPT(…), got {one!r:.80}."
            )
        names.append(orders.named(definition, one).name)
    return list(dict.fromkeys(names))


def of(lifecycle: str, transition: str) -> list[Guard]:
    """The guards added to one transition, in the order they were added."""
    return _added.get((lifecycle, transition), [])
