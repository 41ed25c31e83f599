"""Graph: what of a lifecycle is drawn, its states and the lines between them; not yet where."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lifecycle.definition.compiled import CompiledDeadline, CompiledTimeout, CompiledTransition, Definition
from lifecycle.drawing.pills import SOURCES_DRAWN, pills_of, sources_of

CHAIN = 6
# More states than this are no longer one picture for people: what is near comes first, the whole is drawn in parts.
LARGE = 30
END_OF_PATH = 8

CREATE = "$create"


class Step(NamedTuple):
    """One entry of a record's history, as far as the picture needs it."""

    version: int
    transition: str
    source: str
    target: str


@dataclass(frozen=True)
class Node:
    """A box: a state, the pill from which a transition out of many states starts, or a reference to a state elsewhere.

    ``covers`` are the states a pill stands for, and ``title`` names them; ``refers_to`` is the state a reference means.
    """

    name: str
    text: str
    initial: bool = False
    final: bool = False
    deprecated: bool = False
    tone: str = ""
    covers: tuple[str, ...] = ()
    title: str = ""
    refers_to: str = ""

    @property
    def is_pill(self) -> bool:
        return bool(self.covers)

    @property
    def is_state(self) -> bool:
        return not self.covers and not self.refers_to


@dataclass(frozen=True)
class Label:
    """A transition's name on a line."""

    transition: str
    text: str
    manual: bool
    timed: bool


@dataclass(frozen=True)
class Edge:
    """One line: every transition from one box to another. ``main`` where it is the usual way on."""

    source: str
    target: str
    labels: tuple[Label, ...]
    main: bool = False

    @property
    def is_loop(self) -> bool:
        return self.source == self.target

    @property
    def timed(self) -> bool:
        """Only time goes this way: the line is dashed."""
        return all(label.timed and not label.manual for label in self.labels)


@dataclass(frozen=True)
class Graph:
    """Boxes and lines in the order of declaration. Equal graphs are drawn alike: it is the layouts' cache key."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def is_large(self) -> bool:
        """Too many states for one picture."""
        return sum(node.is_state for node in self.nodes) > LARGE

    def is_chain(self) -> bool:
        """Up to six states in a row: drawn to the right."""
        if not 1 < len(self.nodes) <= CHAIN or len(self.edges) != len(self.nodes) - 1:
            return False
        if any(edge.is_loop for edge in self.edges):
            return False
        ways = {edge.source: edge.target for edge in self.edges}
        here, seen = self.nodes[0].name, set()
        while here in ways and here not in seen:
            seen.add(here)
            here = ways[here]
        starts = [node.name for node in self.nodes if node.initial]
        return len(seen) == len(self.edges) and starts in ([], [self.nodes[0].name]) and not self.nodes[0].is_pill

    def edge_of(self, transition: str, source: str, target: str) -> Edge | None:
        """The line a transition took, which may start in a pill."""
        return next((edge for edge in self.edges_of(transition, source) if edge.target == target), None)

    def edges_of(self, transition: str, source: str) -> Iterator[Edge]:
        """The lines a transition may take out of a state."""
        starts = self.starting(source)
        for edge in self.edges:
            if edge.source in starts and any(label.transition == transition for label in edge.labels):
                yield edge

    def starting(self, state: str) -> set[str]:
        """The boxes from which lines out of a state start: its own and the pills that cover it."""
        return {state} | {node.name for node in self.nodes if state in node.covers}


def graph_of(definition: Definition) -> Graph:
    """The whole graph of a lifecycle, its texts in the active language."""
    states = [
        Node(
            name=state.name,
            text=str(state.label),
            initial=state.name in definition.initial,
            final=state.final,
            deprecated=state.deprecated,
            tone=_tone(state.meta.get("tone"), quiet=state.final or state.name in definition.initial),
        )
        for state in definition.states.values()
    ]
    timed = _timed(definition)
    pills = pills_of(definition, sources_drawn=SOURCES_DRAWN)
    merged: dict[tuple[str, str], list[Label]] = {}
    for transition in definition.transitions.values():
        sources = sources_of(definition, transition)
        pill = pills.get(transition.name)
        for start in [pill.name] if pill else sources:
            times = timed.get(transition.name, set())
            label = Label(
                transition=transition.name,
                text=str(transition.label),
                manual=transition.manual,
                timed=bool(times & ({start} if start in definition.states else set(sources))),
            )
            for target in dict.fromkeys(transition.targets):
                if target in definition.states:
                    merged.setdefault((start, target), []).append(label)
    main = _main(definition)
    edges = [
        Edge(source, target, tuple(labels), main=(source, target) in main)
        for (source, target), labels in merged.items()
    ]
    boxes = [Node(pill.name, pill.text, covers=pill.states, title=pill.title) for pill in dict.fromkeys(pills.values())]
    return Graph((*states, *boxes), tuple(edges))


def near(graph: Graph, current: str | None, path: Sequence[Step]) -> Graph:
    """What of a graph fits a phone: the path, the current state and what it can reach; of a long path its end."""
    found = _near(graph, current, path)
    return _near(graph, current, path[-END_OF_PATH:]) if found.is_large() else found


def _near(graph: Graph, current: str | None, path: Sequence[Step]) -> Graph:
    states = {current} if current else _initial(graph)
    lines: set[tuple[str, str]] = set()
    for step in path:
        states |= {step.source, step.target}
        edge = graph.edge_of(step.transition, step.source, step.target)
        if edge:
            lines.add((edge.source, edge.target))
    here = graph.starting(current) if current else states
    lines |= {(edge.source, edge.target) for edge in graph.edges if edge.source in here}
    return _part(graph, states, lines)


def around(graph: Graph, states: Collection[str]) -> Graph:
    """What leads to some states and out of them; to the initial ones when none is named."""
    here = set(states) or _initial(graph)
    starts = here.union(*(graph.starting(state) for state in here))
    lines = {(edge.source, edge.target) for edge in graph.edges if edge.source in starts or edge.target in here}
    return _part(graph, here, lines)


def _initial(graph: Graph) -> set[str]:
    return {node.name for node in graph.nodes if node.initial}


def _part(graph: Graph, states: set[str], lines: set[tuple[str, str]]) -> Graph:
    shown = states.union(*lines)
    return Graph(
        tuple(node for node in graph.nodes if node.name in shown),
        tuple(edge for edge in graph.edges if (edge.source, edge.target) in lines),
    )


def without_tones(graph: Graph) -> Graph:
    """A graph as the layout sees it: what changes no size is left out."""
    return replace(graph, nodes=tuple(replace(node, tone="", deprecated=False, title="") for node in graph.nodes))


def _tone(tone: object, *, quiet: bool) -> str:
    if isinstance(tone, str) and tone.isidentifier() and tone.isascii():
        return tone
    return "neutral" if quiet else "progress"


def _timed(definition: Definition) -> dict[str, set[str]]:
    """Per transition, the states out of which time fires it."""
    timed: dict[str, set[str]] = {}
    triggers: list[CompiledTimeout | CompiledDeadline] = [*definition.timeouts.values(), *definition.deadlines.values()]
    for trigger in triggers:
        timed.setdefault(trigger.transition, set()).update(trigger.when)
    return timed


def _main(definition: Definition) -> set[tuple[str, str]]:
    """The usual way on from each state: what ``meta={"main": True}`` says, else what is declared first."""
    found: set[tuple[str, str]] = set()
    for state in definition.states:
        leaving = [one for one in definition.leaving(state) if not one.any_source and one.target != state]
        marked = [one for one in leaving if one.meta.get("main")]
        found |= {(state, _first(one)) for one in marked or leaving[:1]}
    return found


def _first(transition: CompiledTransition) -> str:
    return transition.targets[0]
