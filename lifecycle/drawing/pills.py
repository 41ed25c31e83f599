"""Pill: the one box in which a transition out of many states starts, instead of a line from each of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from lifecycle.definition.compiled import CompiledTransition, Definition
from lifecycle.drawing import words

# From more states than this a picture uses a pill whatever the declaration says: it decides whether a big one is read.
SOURCES_DRAWN = 5
NAMED_EXCEPTIONS = 1


@dataclass(frozen=True)
class Pill:
    """A box for ``states``; ``title`` names them. Transitions out of the same states share it."""

    name: str
    text: str
    title: str
    states: tuple[str, ...]


def pills_of(definition: Definition, *, sources_drawn: int | None = None) -> dict[str, Pill]:
    """The pill of each transition that starts in one: of `ANY` and `ANY_EXCEPT`, and of more sources than are drawn."""
    pills: dict[tuple[str, ...], Pill] = {}
    found: dict[str, Pill] = {}
    for transition in definition.transitions.values():
        states = sources_of(definition, transition)
        if states and (transition.any_source or (sources_drawn is not None and len(states) > sources_drawn)):
            found[transition.name] = pills.setdefault(states, _pill(definition, states, len(pills)))
    return found


def sources_of(definition: Definition, transition: CompiledTransition) -> tuple[str, ...]:
    """The states a transition starts in, in the order of declaration."""
    return tuple(state for state in definition.states if state in transition.sources)


def _pill(definition: Definition, states: tuple[str, ...], number: int) -> Pill:
    title = ", ".join(str(definition.states[state].label) for state in states)
    return Pill(f"$any{number}", _text(definition, states), title, states)


def _text(definition: Definition, sources: Collection[str]) -> str:
    left_out = [state for state in definition.states.values() if not state.final and state.name not in sources]
    if any(state in definition.final for state in sources) or len(left_out) > NAMED_EXCEPTIONS:
        return words.any_of(len(sources))
    if left_out:
        return words.any_state_except([str(state.label) for state in left_out])
    return words.any_state()
