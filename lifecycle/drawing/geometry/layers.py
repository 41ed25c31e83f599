"""Layer: which row each box stands in, and on which row each line carries its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lifecycle.drawing.geometry.simplex import Places
from lifecycle.drawing.graph import Edge, Graph

BACK, FORWARD, NEIGHBOURS = 1, 2, 2
MAIN = 2
AWAY = 26.0
BOX, LABEL, LINE, START = "box", "label", "line", "start"


@dataclass
class Item:
    """Something with a place in a row: a box, the labels of a line, the line itself passing by, a start's dot."""

    kind: str
    row: int
    left: float
    right: float
    height: float
    node: int = -1
    edge: int = -1


@dataclass
class Rows:
    """The picture as rows of items. Labels and dots stand in even rows, boxes in odd ones.

    ``chains`` hold per line its items from the upper box to the lower one; ``reversed_edges`` are the lines drawn
    from the lower to the upper. ``rows`` holds item numbers from left to right.
    """

    items: list[Item] = field(default_factory=list)
    chains: dict[int, list[int]] = field(default_factory=dict)
    reversed_edges: set[int] = field(default_factory=set)
    starts: list[tuple[int, int]] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)

    def add(self, item: Item) -> int:
        self.items.append(item)
        return len(self.items) - 1


@dataclass(frozen=True)
class Size:
    """How much room something takes, seen from its middle; a box with loops takes more to its right."""

    left: float
    right: float
    height: float


def order_of_states(graph: Graph) -> list[int]:
    """The order in which states come along the process: as declared, unless too many lines would run back."""
    count = len(graph.nodes)
    number = {node.name: index for index, node in enumerate(graph.nodes)}
    back = [[0] * count for _ in range(count)]
    for edge in graph.edges:
        if not edge.is_loop:
            back[number[edge.source]][number[edge.target]] += MAIN if edge.main else 1
    first = next((index for index, node in enumerate(graph.nodes) if node.initial), 0)
    # Pills first: what may happen anywhere begins above what it leads to.
    others = sorted(
        (index for index in range(count) if index != first), key=lambda index: not graph.nodes[index].is_pill
    )
    declared = [first, *others]
    widening = _breadth_first(graph, number, first, declared)
    start = min(declared, widening, key=lambda order: _backward(order, back))
    return _improved(start, back)


def _breadth_first(graph: Graph, number: Mapping[str, int], first: int, declared: Sequence[int]) -> list[int]:
    ways: dict[int, list[int]] = {}
    for edge in graph.edges:
        ways.setdefault(number[edge.source], []).append(number[edge.target])
    order = [first]
    for here in order:
        order += [there for there in dict.fromkeys(ways.get(here, ())) if there not in order]
    return order + [index for index in declared if index not in order]


def _backward(order: Sequence[int], back: Sequence[Sequence[int]]) -> int:
    return sum(back[later][earlier] for at, later in enumerate(order) for earlier in order[:at])


def _improved(order: list[int], back: Sequence[Sequence[int]]) -> list[int]:
    """Moves single states while that saves more lines running back than it reverses pairs of states.

    Without a price on reversed pairs a process would not be recognised: the order of declaration is the best hint.
    """
    home = {state: at for at, state in enumerate(order)}
    while True:
        best: tuple[int, int, int] = (0, 0, 0)
        for at in range(1, len(order)):
            state = order[at]
            for step in (-1, 1):
                cost = 0
                to = at + step
                while 0 < to < len(order):
                    other = order[to]
                    to_front = back[other][state] - back[state][other]  # what it costs to put it before the other
                    reversed_pair = 1 if (home[state] < home[other]) == (step > 0) else -1
                    cost += reversed_pair + (to_front if step < 0 else -to_front)
                    if cost < best[0]:
                        best = (cost, at, to)
                    to += step
        if not best[0]:
            return order
        _, at, to = best
        order.insert(to, order.pop(at))


def ranks(graph: Graph, order: Sequence[int]) -> list[int]:
    """The row of each box, top is 0: lines as short as can be, the first initial state on top."""
    number = {node.name: index for index, node in enumerate(graph.nodes)}
    place = {index: at for at, index in enumerate(order)}
    count = len(graph.nodes)
    pulls = [0.0] * count
    apart: list[tuple[int, int, float]] = [(order[0], other, 0) for other in order[1:]]
    for edge in graph.edges:
        source, target = number[edge.source], number[edge.target]
        if source == target:
            continue
        weight = FORWARD
        if place[source] > place[target]:
            source, target, weight = target, source, BACK
        if abs(source - target) == 1:
            weight += NEIGHBOURS
        pulls[target] += weight
        pulls[source] -= weight
        apart.append((source, target, 1))
    row = [0.0] * count
    for index in order:
        row[index] = max([0.0, *(row[above] + distance for above, below, distance in apart if below == index)])
    best = Places(row, pulls=pulls, apart=apart).best()
    return _whole(best, order[0], apart)


def _whole(rows: Sequence[float], top: int, apart: Sequence[tuple[int, int, float]]) -> list[int]:
    """Rows as whole numbers from 0: the middle of a free part's slack may be a half."""
    whole = [int(row - rows[top]) for row in rows]
    assert all(whole[below] - whole[above] >= distance for above, below, distance in apart)
    return whole


def rows_of(graph: Graph, boxes: Sequence[Size], labels: Mapping[int, Size], dot: Size, *, rank: Sequence[int]) -> Rows:
    """The rows with everything in them, still in no particular order from left to right."""
    number = {node.name: index for index, node in enumerate(graph.nodes)}
    rows = Rows()
    for index, size in enumerate(boxes):
        rows.add(Item(BOX, 2 * rank[index] + 1, size.left, size.right, size.height, node=index))
    ends: dict[int, tuple[int, int]] = {}
    for index, edge in enumerate(graph.edges):
        if edge.is_loop:
            continue
        upper, lower = number[edge.source], number[edge.target]
        if rank[upper] > rank[lower]:
            upper, lower = lower, upper
            rows.reversed_edges.add(index)
        ends[index] = (upper, lower)
    label_rows = _label_rows(graph.edges, ends, rank, labels, reversed_edges=rows.reversed_edges)
    for index, (upper, lower) in ends.items():
        chain = [upper]
        for row in range(2 * rank[upper] + 2, 2 * rank[lower] + 1):
            if row == label_rows[index]:
                size = labels[index]
                chain.append(rows.add(Item(LABEL, row, size.left, size.right, size.height, edge=index)))
            else:
                chain.append(rows.add(Item(LINE, row, 0, 0, 0, edge=index)))
        rows.chains[index] = [*chain, lower]
    for index, node in enumerate(graph.nodes):
        if node.initial:
            above = Item(START, 2 * rank[index], dot.left, dot.right, dot.height, node=index)
            rows.starts.append((rows.add(above), index))
    rows.rows = [[] for _ in range(max(item.row for item in rows.items) + 1)]
    for index, item in enumerate(rows.items):
        rows.rows[item.row].append(index)
    return rows


def _label_rows(
    edges: Sequence[Edge],
    ends: Mapping[int, tuple[int, int]],
    rank: Sequence[int],
    labels: Mapping[int, Size],
    *,
    reversed_edges: set[int],
) -> dict[int, int]:
    """Near its source, unless that would make the picture wider. The short lines, which have no choice, go first."""
    filled: dict[int, float] = {}
    found: dict[int, int] = {}
    for index in sorted(ends, key=lambda index: (rank[ends[index][1]] - rank[ends[index][0]], index)):
        upper, lower = ends[index]
        possible = list(range(2 * rank[upper] + 2, 2 * rank[lower] + 1, 2))
        if index in reversed_edges:
            possible.reverse()
        row = min(possible, key=lambda row: (filled.get(row, 0.0) + AWAY * possible.index(row), possible.index(row)))
        found[index] = row
        size = labels[index]
        filled[row] = filled.get(row, 0.0) + size.left + size.right
    return found
