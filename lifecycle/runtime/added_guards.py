"""Added guards: questions that other apps ask of a transition they do not declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from lifecycle import registry
from lifecycle.definition.compiled import Guard
from lifecycle.runtime import orders

_added: dict[tuple[str, str], list[Guard]] = {}


def register_guard(
    lifecycle: Any,
    transitions: str | Iterable[str],
    ask: Callable[[Any], Any],
    *,
    code: str = "guard_refused",
    message: Any = None,
    kind: Literal["permission", "precondition"] = "precondition",
) -> Callable[[], None]:
    """Adds a guard to a transition (or several, or ``"*"`` for all) of somebody else's lifecycle, in this process.

    Its refusals come after those of the declaration, in ``can`` and in ``fire`` alike.

    Args:
        lifecycle: its name, class or model.
        transitions: a name, several, or ``"*"``.
        ask: called with the same context as declared guards; the same answers.

    Returns:
        A function that takes the guard away again; calling it twice is harmless.

    Raises:
        UnknownLifecycle, UnknownTransition: with the nearest right name.
    """
    definition = registry.of(lifecycle)
    if transitions == "*":
        names = list(definition.transitions)
    elif isinstance(transitions, str):
        names = [orders.named(definition, transitions).name]
    else:
        names = [orders.named(definition, one).name for one in transitions]
    guard = Guard(name=getattr(ask, "__name__", "guard"), ask=ask, code=code, message=message, kind=kind)
    for name in names:
        _added.setdefault((definition.name, name), []).append(guard)

    def unregister() -> None:
        for name in names:
            there = _added.get((definition.name, name), [])
            _added[definition.name, name] = [one for one in there if one is not guard]

    return unregister


def of(lifecycle: str, transition: str) -> list[Guard]:
    """The guards added to one transition, in the order they were added."""
    return _added.get((lifecycle, transition), [])
