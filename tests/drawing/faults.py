"""Faults: what a reader would stumble over in a picture."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from lifecycle.drawing.geometry.places import Layout, PlacedEdge, Rect

Segment = tuple[float, float, float, float]
SLACK = 0.01
NEAREST = 4.0


def faults(layout: Layout) -> list[str]:
    """Everything wrong with a picture; the empty list for a good one."""
    return [
        *_overlaps(layout),
        *_outside(layout),
        *_diagonals(layout),
        *_loose_ends(layout),
        *_far_labels(layout),
        *_lines_through(layout),
        *_lines_on_lines(layout),
    ]


def _things(layout: Layout) -> list[tuple[str, Rect]]:
    things = [(f"box {node.name}", node.box) for node in layout.nodes]
    things += [(f"label {edge.source}→{edge.target}", edge.back) for edge in layout.edges]
    things += [(f"reference to {edge.target}", edge.reference.box) for edge in layout.edges if edge.reference]
    return things + [(f"number of {start.target}", start.step) for start in layout.starts]


def _overlaps(layout: Layout) -> Iterator[str]:
    for (name, one), (other_name, other) in combinations(_things(layout), 2):
        if _overlap(one, other):
            yield f"{name} lies on {other_name}"
    for edge in layout.edges:
        for one, other in pairwise(edge.labels):
            if _overlap(one.box, other.box):
                yield f"labels {one.transition} and {other.transition} overlap"


def _outside(layout: Layout) -> Iterator[str]:
    for name, rect in _things(layout):
        if rect.x < 0 or rect.y < 0 or rect.x + rect.width > layout.width or rect.y + rect.height > layout.height:
            yield f"{name} is outside"
    for name, corners in _lines(layout):
        if any(not (0 <= x <= layout.width and 0 <= y <= layout.height) for x, y in corners):
            yield f"{name} is outside"


def _diagonals(layout: Layout) -> Iterator[str]:
    for name, corners in _lines(layout):
        if any(one[0] != other[0] and one[1] != other[1] for one, other in pairwise(corners)):
            yield f"{name} is not upright or level"


def _loose_ends(layout: Layout) -> Iterator[str]:
    boxes = {node.name: node.box for node in layout.nodes}
    for edge in layout.edges:
        target = edge.reference.box if edge.reference else boxes[edge.target]
        for state, box, end in (
            (edge.source, boxes[edge.source], edge.corners[0]),
            (edge.target, target, edge.corners[-1]),
        ):
            if not _on_border(box, end):
                yield f"{edge.source}→{edge.target} does not end on {state}"
    for start in layout.starts:
        if not _on_border(boxes[start.target], start.corners[-1]):
            yield f"the start does not end on {start.target}"


def _far_labels(layout: Layout) -> Iterator[str]:
    for edge in layout.edges:
        grown = 16.0 if edge.source == edge.target else 0.0  # beside a loop, not on it
        back = Rect(edge.back.x - grown, edge.back.y, edge.back.width + grown, edge.back.height)
        if not any(_crosses(segment, back) for segment in _segments(edge.corners)):
            yield f"the labels of {edge.source}→{edge.target} are not on their line"
        for label in edge.labels:
            if not _contains(edge.back, label.box):
                yield f"label {label.transition} is not where its line's labels are"


def _lines_through(layout: Layout) -> Iterator[str]:
    for edge in layout.edges:
        for segment in _segments(edge.corners):
            for node in layout.nodes:
                if _crosses(segment, _grown(node.box, -0.5)):
                    yield f"{edge.source}→{edge.target} runs through box {node.name}"
            for other in layout.edges:
                if other.reference and _crosses(segment, _grown(other.reference.box, -0.5)):
                    yield f"{edge.source}→{edge.target} runs through the reference to {other.target}"
                if other is not edge and _crosses(segment, other.back):
                    yield f"{edge.source}→{edge.target} runs through the labels of {other.source}→{other.target}"
            for start in layout.starts:
                if _crosses(segment, start.step):
                    yield f"{edge.source}→{edge.target} runs through the number of {start.target}"


def _lines_on_lines(layout: Layout) -> Iterator[str]:
    for (name, one), (other_name, other) in combinations(_lines(layout), 2):
        for first in _visible(layout, name, one):
            for second in _visible(layout, other_name, other):
                if _side_by_side(first, second):
                    yield f"{name} lies on {other_name}: {first} {second}"


def _lines(layout: Layout) -> list[tuple[str, tuple[tuple[float, float], ...]]]:
    lines = [(f"{edge.source}→{edge.target}", edge.corners) for edge in layout.edges]
    return lines + [(f"start→{start.target}", start.corners) for start in layout.starts]


def _visible(layout: Layout, name: str, corners: tuple[tuple[float, float], ...]) -> Iterator[Segment]:
    """Segments, without those hidden behind the line's own labels."""
    edge: PlacedEdge | None = next((one for one in layout.edges if f"{one.source}→{one.target}" == name), None)
    for left, top, right, bottom in _segments(corners):
        if edge is None or not _contains(edge.back, Rect(left, top, right - left, bottom - top)):
            yield left, top, right, bottom


def _segments(corners: tuple[tuple[float, float], ...]) -> Iterator[Segment]:
    for (x, y), (to_x, to_y) in pairwise(corners):
        yield min(x, to_x), min(y, to_y), max(x, to_x), max(y, to_y)


def _side_by_side(one: Segment, other: Segment) -> bool:
    left, top, right, bottom = one
    other_left, other_top, other_right, other_bottom = other
    if left == right and other_left == other_right:
        return abs(left - other_left) < NEAREST and min(bottom, other_bottom) - max(top, other_top) > SLACK
    if top == bottom and other_top == other_bottom:
        return abs(top - other_top) < NEAREST and min(right, other_right) - max(left, other_left) > SLACK
    return False


def _overlap(one: Rect, other: Rect) -> bool:
    return (
        one.x + SLACK < other.x + other.width
        and other.x + SLACK < one.x + one.width
        and one.y + SLACK < other.y + other.height
        and other.y + SLACK < one.y + one.height
    )


def _contains(outer: Rect, inner: Rect) -> bool:
    return (
        outer.x - SLACK <= inner.x
        and outer.y - SLACK <= inner.y
        and inner.x + inner.width <= outer.x + outer.width + SLACK
        and inner.y + inner.height <= outer.y + outer.height + SLACK
    )


def _crosses(segment: Segment, rect: Rect) -> bool:
    left, top, right, bottom = segment
    return (
        left < rect.x + rect.width - SLACK
        and right > rect.x + SLACK
        and top < rect.y + rect.height - SLACK
        and bottom > rect.y + SLACK
    )


def _grown(rect: Rect, by: float) -> Rect:
    return Rect(rect.x - by, rect.y - by, rect.width + 2 * by, rect.height + 2 * by)


def _on_border(box: Rect, point: tuple[float, float]) -> bool:
    x, y = point
    level = box.x <= x <= box.x + box.width and (abs(y - box.y) < SLACK or abs(y - box.y - box.height) < SLACK)
    upright = box.y <= y <= box.y + box.height and (abs(x - box.x) < SLACK or abs(x - box.x - box.width) < SLACK)
    return level or upright
