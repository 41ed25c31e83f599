"""Part: the states of a large lifecycle that are drawn together; a line out of the part ends in a reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from lifecycle.drawing.geometry.layers import order_of_states
from lifecycle.drawing.graph import Edge, Graph, Node

LEAST, USUAL, MOST = 6, 10, 14
# What a part of another size than the usual costs, in lines led through a reference: a tie-breaker for most.
UNUSUAL = 0.25


@dataclass(frozen=True)
class Part:
    """One part as a graph of its own. ``edges`` are the numbers its lines have in the whole graph."""

    graph: Graph
    edges: tuple[int, ...]


def parts_of(graph: Graph) -> list[Part]:
    """The parts, in the order of the process: few lines lead from one to another."""
    order = [index for index in order_of_states(graph) if not graph.nodes[index].is_pill]
    names = [graph.nodes[index].name for index in order]
    home = _settled({name: number for number, part in enumerate(_cut(names, graph)) for name in part}, graph)
    for edge in graph.edges:
        home.setdefault(edge.source, home[edge.target])  # a pill stands above the first state it leads to
    boxes = [graph.nodes[index] for index in order] + [node for node in graph.nodes if node.is_pill]
    return [_part(number, graph, boxes, home) for number in range(max(home.values()) + 1)]


def _cut(names: Sequence[str], graph: Graph) -> list[Sequence[str]]:
    """Cuts the process where the fewest lines are cut: the best last part for each length, from the shortest on."""
    at = {name: number for number, name in enumerate(names)}
    spans = [
        (min(at[edge.source], at[edge.target]), max(at[edge.source], at[edge.target]))
        for edge in graph.edges
        if edge.source in at
    ]
    cost: list[float] = [0.0]
    cuts = [0]
    for end in range(1, len(names) + 1):
        best, cut = float("inf"), 0
        for start in range(max(0, end - MOST), max(0, end - LEAST) + 1):
            cut_off = sum(first < start <= last < end for first, last in spans)
            total = cost[start] + cut_off + UNUSUAL * (end - start - USUAL) ** 2
            if total < best:
                best, cut = total, start
        cost.append(best)
        cuts.append(cut)
    parts: list[Sequence[str]] = []
    end = len(names)
    while end:
        parts.append(names[cuts[end] : end])
        end = cuts[end]
    return parts[::-1]


def _settled(home: dict[str, int], graph: Graph) -> dict[str, int]:
    """Moves single states to the part most of their lines lead to: a side branch may end beside what it left.

    Each move leaves fewer lines between parts, so there is an end to it.
    """
    lines: dict[str, list[str]] = {name: [] for name in home}
    for edge in graph.edges:
        if edge.source in home and not edge.is_loop:
            lines[edge.source].append(edge.target)
            lines[edge.target].append(edge.source)
    sizes = Counter(home.values())
    moving = True
    while moving:
        moving = False
        for name, here in home.items():
            joined = Counter(home[other] for other in lines[name])
            there, most = max(joined.items(), key=itemgetter(1), default=(here, 0))
            if most > joined[here] and sizes[there] < MOST and sizes[here] > LEAST:
                home[name] = there
                sizes[there] += 1
                sizes[here] -= 1
                moving = True
    return home


def _part(number: int, graph: Graph, boxes: Sequence[Node], home: Mapping[str, int]) -> Part:
    nodes = [node for node in boxes if home.get(node.name, 0) == number]
    texts = {node.name: node.text for node in boxes}
    edges: list[Edge] = []
    numbers: list[int] = []
    for index, edge in enumerate(graph.edges):
        if home[edge.source] != number:
            continue
        target = edge.target
        if home[target] != number:
            target = f"$to{index}"
            nodes.append(Node(target, texts[edge.target], refers_to=edge.target))
        edges.append(Edge(edge.source, target, edge.labels, edge.main))
        numbers.append(index)
    return Part(Graph(tuple(nodes), tuple(edges)), tuple(numbers))
