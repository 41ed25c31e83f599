"""Outline: the picture in words, for screen readers: as one description, and as a list for the page."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from html import escape

from lifecycle.definition.compiled import Definition
from lifecycle.drawing import words
from lifecycle.drawing.geometry.measure import clean
from lifecycle.drawing.graph import CREATE, Graph, Label, Node, Step, graph_of
from lifecycle.drawing.highlights import Count

STEPS_TOLD = 30


def description(
    definition: Definition,
    graph: Graph,
    *,
    current: str | None = None,
    path: Sequence[Step] = (),
    counts: Mapping[str, Count] | None = None,
) -> str:
    """What the picture says, in sentences: its size, the state, the path, the numbers."""
    names = {node.name: node.text for node in graph.nodes}
    said = [words.size(len(definition.states), len(definition.transitions))]
    if current:
        said.append(words.now_in(names.get(current, current)))
    if path:
        told = [
            words.step(step.version, _transition(definition, step.transition), names.get(step.target, step.target))
            for step in path[-STEPS_TOLD:]
        ]
        said.append(words.path(told if len(path) <= STEPS_TOLD else ["…", *told]))
    if counts is not None:
        told = []
        for state in definition.states:
            count = counts.get(state, Count(0))
            told.append(f"{names[state]} {count.number}")
            if count.oldest:
                told.append(words.oldest(count.oldest))
        said.append(words.records(told))
    return " ".join(said)


def outline(
    definition: Definition,
    *,
    current: str | None = None,
    path: Iterable[tuple[int, str, str, str]] = (),
    open_transitions: Container[str] = (),
) -> str:
    """The picture as nested HTML lists: per state, the transitions out of it. Every text is escaped."""
    graph = graph_of(definition)
    versions: dict[tuple[str, str, str], list[int]] = {}
    for step in (Step(*entry) for entry in path):
        versions.setdefault((step.source, step.transition, step.target), []).append(step.version)
    names = {node.name: node.text for node in graph.nodes}
    states = []
    for node in graph.nodes:
        if node.is_pill:
            continue
        ways = []
        for edge in graph.edges:
            if edge.source not in graph.starting(node.name):
                continue
            for label in edge.labels:
                is_open = node.name == current and label.manual and label.transition in open_transitions
                taken = versions.get((node.name, label.transition, edge.target), [])
                ways.append(f"<li>{_escaped(_way(label, names[edge.target], is_open=is_open, taken=taken))}</li>")
        listed = f"<ul>{''.join(ways)}</ul>" if ways else ""
        mark = ' aria-current="step"' if node.name == current else ""
        states.append(f"<li{mark}>{_escaped(_state(node, current))}{listed}</li>")
    return f'<ul class="lc-outline">{"".join(states)}</ul>'


def _state(node: Node, current: str | None) -> str:
    marks = [
        word
        for word, holds in (
            (words.current(), node.name == current),
            (words.initial(), node.initial),
            (words.final(), node.final),
        )
        if holds
    ]
    return f"{node.text} ({', '.join(marks)})" if marks else node.text


def _way(label: Label, target: str, *, is_open: bool, taken: Sequence[int]) -> str:
    marks = [
        word
        for word, holds in (
            (words.open_now(), is_open),
            (words.by_time(), label.timed),
            (words.only_the_system(), not label.manual and not label.timed),
        )
        if holds
    ]
    text = words.to(label.text, target)
    if marks:
        text += f" ({', '.join(marks)})"
    return f"{text}: {', '.join(map(str, taken))}" if taken else text


def _transition(definition: Definition, name: str) -> str:
    if name == CREATE:
        return words.created()
    known = definition.transitions.get(name)
    return str(known.label) if known else name


def _escaped(text: str) -> str:
    return escape(clean(text), quote=True)
