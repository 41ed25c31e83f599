"""Mark: the signs on an edge that tell who fires it — time, an effect's outcome, server code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lifecycle.definition.compiled import Definition
from lifecycle.drawing.pills import pills_of, sources_of

TIME = "⏱"
SUCCESS = "✓"
FAILURE = "✗"
SYSTEM = "⚙"


@dataclass(frozen=True, kw_only=True)
class Edge:
    """One arrow of the diagram: a transition from one of its sources, or from its pill, to one of its targets."""

    transition: str
    source: str
    target: str
    label: str
    marks: tuple[str, ...]

    @property
    def text(self) -> str:
        """The label with its marks behind it."""
        return " ".join((self.label, *self.marks))


def edges(definition: Definition) -> Iterator[Edge]:
    """Every arrow, in the order of declaration; states in the order the lifecycle has them."""
    pills = pills_of(definition)
    for transition in definition.transitions.values():
        signs = marks(definition, transition.name)
        pill = pills.get(transition.name)
        for source in [pill.name] if pill else sources_of(definition, transition):
            for target in transition.targets:
                yield Edge(
                    transition=transition.name,
                    source=source,
                    target=target,
                    label=str(transition.label),
                    marks=signs,
                )


def marks(definition: Definition, transition: str) -> tuple[str, ...]:
    """The signs of one transition: ⏱ time fires it, ✓ and ✗ an effect's outcome does, ⚙ only server code may."""
    effects = definition.effects.values()
    timed = {one.transition for one in definition.timeouts.values()}
    timed |= {one.transition for one in definition.deadlines.values()}
    signs = (
        (TIME, transition in timed),
        (SUCCESS, any(effect.on_success == transition for effect in effects)),
        (FAILURE, any(transition in (effect.on_failure, effect.on_dead) for effect in effects)),
        (SYSTEM, not definition.transitions[transition].manual),
    )
    return tuple(sign for sign, holds in signs if holds)
