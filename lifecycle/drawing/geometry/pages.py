"""Page: the parts of a large lifecycle beside and below each other, in the shape that fits a page best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lifecycle.drawing.geometry.parts import Part
from lifecycle.drawing.geometry.places import Layout, PlacedEdge, PlacedLabel, PlacedNode, PlacedStart, Point, Rect
from lifecycle.drawing.graph import Graph

# The shape of a sheet, about as wide as the admin shows without scrolling; the near diagram is made for a phone.
PAGE, NEAR_PAGE = (900.0, 1200.0), (374.0, 2400.0)
BETWEEN_PARTS = 44.0


def on_a_page(graph: Graph, parts: Sequence[Part], layouts: Sequence[Layout], *, near: bool) -> Layout:
    """One layout out of those of the parts, read from top to bottom, column by column."""
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
    """The corner of each part, in the columns that need the least shrinking to fit the page."""
    heights = [layout.height for layout in layouts]
    stacks = {_stacked(heights[first : last + 1]) for last in range(len(heights)) for first in range(last + 1)}
    choices = [_in_columns(layouts, limit) for limit in sorted(stacks) if limit >= max(heights)]
    return max(choices, key=lambda choice: min(page[0] / choice[1], page[1] / choice[2]))


def _stacked(heights: Sequence[float]) -> float:
    return sum(heights) + BETWEEN_PARTS * (len(heights) - 1)


def _in_columns(layouts: Sequence[Layout], limit: float) -> tuple[list[Point], float, float]:
    """One part below the other until ``limit``, then on in the next column; and how wide and high all of it is."""
    corners: list[Point] = []
    left = top = width = height = 0.0
    for layout in layouts:
        if top and top + layout.height > limit:
            left, top = width + BETWEEN_PARTS, 0.0
        corners.append((left, top))
        width = max(width, left + layout.width)
        height = max(height, top + layout.height)
        top += layout.height + BETWEEN_PARTS
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
