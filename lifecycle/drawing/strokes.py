"""Stroke: the path data of lines with round corners, of arrowheads and signs."""

from __future__ import annotations

from collections.abc import Sequence

from lifecycle.drawing.geometry.places import Point

RADIUS = 8.0
HEAD_LENGTH, HEAD_HALF, HEAD_NOTCH, BEFORE_TIP = 8.0, 4.2, 2.2, 6.0

CLOCK = "M0-4.2a4.2 4.2 0 1 0 .01 0ZM0-2V.2L1.6 1.4"
DOT = 4.5
TRIANGLE = "M6 .5 12 10.5H0ZM6 4v2.8M6 8.6v.1"


def number(value: float) -> str:
    """A coordinate in as few signs as it needs."""
    return f"{value:.1f}".removesuffix(".0")


def at(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"


def line(corners: Sequence[Point]) -> str:
    """A line along its corners, which are rounded; it ends a little before the tip of its arrow."""
    *rest, tip = corners
    points = [*rest, toward(tip, rest[-1], BEFORE_TIP)]
    parts = [f"M{at(points[0])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(RADIUS, _length(before, corner) / 2, _length(corner, after) / 2)
        parts.append(f"L{at(toward(corner, before, radius))}Q{at(corner)} {at(toward(corner, after, radius))}")
    parts.append(f"L{at(points[-1])}")
    return "".join(parts)


def head(corners: Sequence[Point]) -> str:
    """The arrowhead at the end of a line: a path of its own, so that it takes the line's colour and needs no id."""
    before, tip = corners[-2:]
    base = toward(tip, before, HEAD_LENGTH)
    notch = toward(tip, before, HEAD_LENGTH - HEAD_NOTCH)
    across = (0.0, HEAD_HALF) if tip[1] == before[1] else (HEAD_HALF, 0.0)
    left = base[0] - across[0], base[1] - across[1]
    right = base[0] + across[0], base[1] + across[1]
    return f"M{at(tip)}L{at(left)}L{at(notch)}L{at(right)}Z"


def toward(point: Point, other: Point, distance: float) -> Point:
    """A point moved along an upright or level stroke."""
    (x, y), (to_x, to_y) = point, other
    if x == to_x:
        return x, y + (distance if to_y > y else -distance)
    return x + (distance if to_x > x else -distance), y


def _length(one: Point, other: Point) -> float:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])
