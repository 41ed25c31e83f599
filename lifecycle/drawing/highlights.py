"""Highlight: what of a record, or of all of them, is drawn into a layout — classes and numbers, never places."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from lifecycle.drawing import words
from lifecycle.drawing.geometry.measure import text_width
from lifecycle.drawing.geometry.sizes import NAME, Style
from lifecycle.drawing.graph import CREATE, Graph, Step

SECOND, TRIANGLE = 11.5, 17.0
# Room for counts grows in steps, so that a picture keeps its layout while its numbers change.
COUNT_STEP, SECOND_LEAST = 24.0, 120.0


@dataclass(frozen=True)
class Count:
    """How many records are in a state, how long the oldest has been there ("2 d 2 h"), and whether that is too long."""

    number: int
    oldest: str = ""
    late: bool = False


@dataclass(frozen=True)
class Highlights:
    """Which boxes and lines are marked how.

    ``here`` are the boxes lines out of the current state start from. ``steps`` are the versions per source, target and
    transition; ``created`` those per state a record began in.
    """

    current: str | None
    visited: frozenset[str]
    here: frozenset[str]
    open: Container[str]
    steps: Mapping[tuple[str, str, str], Sequence[int]]
    created: Mapping[str, Sequence[int]]
    counts: Mapping[str, Count] | None


def highlights_of(
    graph: Graph,
    current: str | None,
    path: Sequence[Step],
    open_transitions: Container[str],
    counts: Mapping[str, Count] | None,
) -> Highlights:
    """What to mark. Entries of transitions the definition no longer has mark their states alone."""
    steps: dict[tuple[str, str, str], list[int]] = {}
    created: dict[str, list[int]] = {}
    visited = {current} if current else set()
    for step in path:
        visited |= {step.source, step.target}
        if step.transition == CREATE:
            created.setdefault(step.target, []).append(step.version)
        edge = graph.edge_of(step.transition, step.source, step.target)
        if edge:
            steps.setdefault((edge.source, edge.target, step.transition), []).append(step.version)
    here = graph.starting(current) if current else set()
    return Highlights(current, frozenset(visited), frozenset(here), open_transitions, steps, created, counts)


def counts_of(counts: Mapping[str, int | Count] | None) -> dict[str, Count] | None:
    """Numbers as given, as `Count`."""
    if counts is None:
        return None
    return {state: count if isinstance(count, Count) else Count(count) for state, count in counts.items()}


def style_of(graph: Graph, *, near: bool, counts: Mapping[str, Count] | None) -> Style:
    """The kind of picture, with enough room for the widest number."""
    if counts is None:
        return Style(near=near)
    shown = [counts[node.name] for node in graph.nodes if node.name in counts]
    digits = max((text_width(str(count.number), NAME, semibold=True) for count in shown), default=0.0)
    second = max(
        (text_width(words.oldest(count.oldest), SECOND) + TRIANGLE for count in shown if count.oldest), default=0.0
    )
    second = max(second, SECOND_LEAST)
    return Style(near=near, count_width=_stepped(digits), second_width=_stepped(second))


def _stepped(width: float) -> float:
    return max(1.0, -(-width // COUNT_STEP)) * COUNT_STEP
