"""Layout: the making of a picture. The same graph has one layout, whatever a record does."""

from __future__ import annotations

from functools import lru_cache

from lifecycle.drawing.geometry.coordinates import LEFT_OF_LABEL, Columns, columns, room_for_ends
from lifecycle.drawing.geometry.layers import LABEL, Item, Rows, Size, order_of_states, ranks, rows_of
from lifecycle.drawing.geometry.pages import on_a_page
from lifecycle.drawing.geometry.parts import parts_of
from lifecycle.drawing.geometry.places import Layout, PlacedEdge, PlacedLabel, PlacedNode, PlacedStart, Point, Rect
from lifecycle.drawing.geometry.routes import Routes, routes, straightened
from lifecycle.drawing.geometry.sizes import (
    LABEL_HEIGHT,
    LABEL_PITCH,
    PLAIN,
    Style,
    block_of,
    box_size,
    even,
    name_lines,
)
from lifecycle.drawing.graph import Graph, Node

LOOP, LOOP_GAP, LOOP_HALF = 20.0, 14.0, 9.0
MARGIN = 8.0
DOT, STEP = 4.5, 15.0


@lru_cache(maxsize=512)
def laid_out(graph: Graph, style: Style = PLAIN) -> Layout:
    """The layout of a graph, kept in the process: a record's picture then costs only the building of a string."""
    if not graph.is_large():
        return _Picture(graph, style, turned=graph.is_chain() and not style.near).layout()
    parts = parts_of(graph)
    layouts = [_Picture(part.graph, style, turned=False).layout() for part in parts]
    return on_a_page(graph, parts, layouts, near=style.near)


class _Picture:
    """One layout being made, in coordinates *across* and *along*; to the right is down with these two swapped."""

    def __init__(self, graph: Graph, style: Style, *, turned: bool) -> None:
        self.graph = graph
        self.style = style
        self.turned = turned
        self.names = [name_lines(node, style) for node in graph.nodes]
        self.blocks = [block_of(edge, style) for edge in graph.edges]
        self.ranks = ranks(graph, order_of_states(graph))
        self.rank = {node.name: rank for node, rank in zip(graph.nodes, self.ranks, strict=True)}
        self.loops = {edge.source: index for index, edge in enumerate(graph.edges) if edge.is_loop}
        self.boxes = [
            self._with_ends(node, *box_size(node, names, style))
            for node, names in zip(graph.nodes, self.names, strict=True)
        ]

    def layout(self) -> Layout:
        rows = rows_of(
            self.graph,
            [self._size_of_box(index) for index in range(len(self.boxes))],
            {index: self._size_of_label(index) for index, edge in enumerate(self.graph.edges) if not edge.is_loop},
            self._size_of_dot(),
            rank=self.ranks,
        )
        across = columns(self.graph, rows, narrow=self.style.near)
        heights = {index: self._swapped(*size)[1] for index, size in enumerate(self.boxes)}
        along = routes(rows, across, heights)
        return self._placed(rows, across, along)

    # Sizes --------------------------------------------------------------------------------------------

    def _swapped(self, width: float, height: float) -> tuple[float, float]:
        return (height, width) if self.turned else (width, height)

    def _with_ends(self, node: Node, width: float, height: float) -> tuple[float, float]:
        """A box with many ends grows beforehand; to the right there is but one on each side."""
        if self.turned:
            return width, height
        above = below = 0
        for edge in self.graph.edges:
            for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                above += here == node.name and self.rank[there] < self.rank[here]
                below += here == node.name and self.rank[there] > self.rank[here]
        return even(max(width, room_for_ends(max(above + node.initial, below)))), height

    def _size_of_box(self, index: int) -> Size:
        width, height = self._swapped(*self.boxes[index])
        right = width / 2
        loop = self.loops.get(self.graph.nodes[index].name)
        if loop is not None:
            right += LOOP + LOOP_GAP + self.blocks[loop].width
            height = max(height, self.blocks[loop].height)
        return Size(width / 2, right, height)

    def _size_of_label(self, index: int) -> Size:
        block = self.blocks[index]
        width, height = self._swapped(block.width, block.height)
        return Size(width / 2, width / 2, height)

    def _size_of_dot(self) -> Size:
        if self.turned:
            return Size(DOT + 4 + STEP, DOT, 2 * DOT)
        return Size(DOT, DOT + 4 + 2 * STEP, STEP)

    def _before(self, item: Item) -> float:
        """The room between the picture's edge and an item: at a label's left shoulder there may be a number."""
        return LEFT_OF_LABEL if item.kind == LABEL and not self.turned else MARGIN

    # Places -------------------------------------------------------------------------------------------

    def _placed(self, rows: Rows, across: Columns, along: Routes) -> Layout:
        left = min(across.place[index] - item.left - self._before(item) for index, item in enumerate(rows.items))
        corners = [x for points in along.corners.values() for x, _ in points]
        left = min(left, min(corners, default=left) - MARGIN)
        right = max(across.place[index] + item.right for index, item in enumerate(rows.items)) + MARGIN
        right = max(right, max(corners, default=right) + MARGIN)

        def point(x: float, y: float) -> Point:
            x, y = x - left, y + MARGIN
            return (y, x) if self.turned else (x, y)

        nodes = []
        for index, node in enumerate(self.graph.nodes):
            middle = point(across.place[index], along.middles[rows.items[index].row])
            nodes.append(PlacedNode(node.name, _around(middle, *self.boxes[index]), self.names[index]))
        edges = []
        label_items = {item.edge: index for index, item in enumerate(rows.items) if item.kind == LABEL}
        for index, edge in enumerate(self.graph.edges):
            if edge.is_loop:
                edges.append(self._loop(index, next(node.box for node in nodes if node.name == edge.source)))
                continue
            item = label_items[index]
            middle = point(across.place[item], along.middles[rows.items[item].row])
            points = [point(x, y) for x, y in along.corners[index]]
            if index in rows.reversed_edges:
                points.reverse()
            edges.append(self._edge(index, middle, points))
        starts = []
        for dot, box in rows.starts:
            middle = point(across.place[dot], along.middles[rows.items[dot].row])
            step = (
                Rect(middle[0] - STEP / 2, middle[1] - DOT - 3 - STEP, STEP, STEP)
                if self.turned
                else Rect(middle[0] + DOT + 3.5, middle[1] - STEP / 2, STEP, STEP)
            )
            points = [point(x, y) for x, y in along.corners[-1 - box]]
            starts.append(PlacedStart(self.graph.nodes[box].name, tuple(points), step))
        width, height = self._swapped(right - left, along.length + 2 * MARGIN)
        return Layout(width, height, self.turned, tuple(nodes), tuple(edges), tuple(starts))

    def _edge(self, index: int, middle: Point, points: list[Point]) -> PlacedEdge:
        edge, block = self.graph.edges[index], self.blocks[index]
        back = _around(middle, block.width, block.height)
        labels = []
        y = back.y
        for transition, text, width, height in block.parts:
            labels.append(PlacedLabel(transition, Rect(middle[0] - width / 2, y, width, height), text))
            y += height + LABEL_PITCH - LABEL_HEIGHT
        return PlacedEdge(edge.source, edge.target, tuple(straightened(points)), back, tuple(labels))

    def _loop(self, index: int, box: Rect) -> PlacedEdge:
        """Out of a box's right side and back into it."""
        right, middle = box.x + box.width, box.middle[1]
        out = right + LOOP
        points = [
            (right, middle - LOOP_HALF),
            (out, middle - LOOP_HALF),
            (out, middle + LOOP_HALF),
            (right, middle + LOOP_HALF),
        ]
        return self._edge(index, (out + LOOP_GAP + self.blocks[index].width / 2, middle), points)


def _around(middle: Point, width: float, height: float) -> Rect:
    return Rect(middle[0] - width / 2, middle[1] - height / 2, width, height)
