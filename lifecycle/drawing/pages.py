"""Page: the parts of a large lifecycle beside and below each other, in the shape that fits a page best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lifecycle.drawing.graph import Graph
from lifecycle.drawing.parts import Part
from lifecycle.drawing.places import Layout, PlacedEdge, PlacedLabel, PlacedNode, PlacedStart, Point, Rect

# What is looked at without scrolling on a screen; the near diagram is made for a phone.
PAGE, NEAR_PAGE = (1200.0, 900.0), (374.0, 2400.0)
BETWEEN_PARTS = 44.0


def on_a_page(graph: Graph, parts: Sequence[Part], layouts: Sequence[Layout], *, near: bool) -> Layout:
    """One layout out of those of the parts, read from left to right and from top to bottom."""
    corners, width, height = _arranged(layouts, NEAR_PAGE if near else PAGE)
    nodes: dict[str, PlacedNode] = {}
    edges: dict[int, PlacedEdge] = {}
    starts: list[PlacedStart] = []
    for part, layout, (x, y) in zip(parts, layouts, corners, strict=True):
        moved = _moved(layout, x, y)
        placed = {node.name: node for node in moved.nodes}
        for node in part.graph.nodes:
            if not node.refers_to:
                nodes[node.name] = placed[node.name]
        for index, edge, whole in zip(part.edges, moved.edges, (graph.edges[n] for n in part.edges), strict=True):
            if edge.target != whole.target:
                reference = replace(placed[edge.target], name=whole.target)
                edge = replace(edge, target=whole.target, reference=reference)
            edges[index] = edge
        starts += moved.starts
    return Layout(
        width,
        height,
        to_the_right=False,
        nodes=tuple(nodes[node.name] for node in graph.nodes),
        edges=tuple(edges[index] for index in range(len(graph.edges))),
        starts=tuple(starts),
    )


def _arranged(layouts: Sequence[Layout], page: Point) -> tuple[list[Point], float, float]:
    """The corner of each part, in the number of columns that needs the least shrinking to fit the page."""
    choices = [_in_columns(layouts, columns) for columns in range(1, len(layouts) + 1)]
    return max(choices, key=lambda choice: min(1.0, page[0] / choice[1], page[1] / choice[2]))


def _in_columns(layouts: Sequence[Layout], columns: int) -> tuple[list[Point], float, float]:
    corners: list[Point] = []
    width = height = 0.0
    for first in range(0, len(layouts), columns):
        row = layouts[first : first + columns]
        top = height + BETWEEN_PARTS if first else 0.0
        x = 0.0
        for layout in row:
            corners.append((x, top))
            x += layout.width + BETWEEN_PARTS
        width = max(width, x - BETWEEN_PARTS)
        height = top + max(layout.height for layout in row)
    return corners, width, height


def _moved(layout: Layout, by_x: float, by_y: float) -> Layout:
    def point(one: Point) -> Point:
        return one[0] + by_x, one[1] + by_y

    def rect(one: Rect) -> Rect:
        return replace(one, x=one.x + by_x, y=one.y + by_y)

    def label(one: PlacedLabel) -> PlacedLabel:
        return replace(one, box=rect(one.box))

    return replace(
        layout,
        nodes=tuple(replace(node, box=rect(node.box)) for node in layout.nodes),
        edges=tuple(
            replace(
                edge,
                corners=tuple(map(point, edge.corners)),
                back=rect(edge.back),
                labels=tuple(map(label, edge.labels)),
            )
            for edge in layout.edges
        ),
        starts=tuple(
            replace(start, corners=tuple(map(point, start.corners)), step=rect(start.step)) for start in layout.starts
        ),
    )
