"""Graph: which states can be come to from which."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.definition.compiled import Definition


def reachable(definition: Definition, start: Iterable[str]) -> frozenset[str]:
    """The states that can be come to from some states, these included."""
    steps: dict[str, set[str]] = {}
    for transition in definition.transitions.values():
        for source in transition.sources:
            steps.setdefault(source, set()).update(transition.targets)
    seen = set(start)
    ahead = list(seen)
    while ahead:
        for state in steps.get(ahead.pop(), ()):
            if state not in seen:
                seen.add(state)
                ahead.append(state)
    return frozenset(seen)
