"""Route: how far down everything stands, and by which corners each line gets from box to box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lifecycle.drawing.geometry.coordinates import Columns
from lifecycle.drawing.geometry.layers import BOX, LABEL, Rows
from lifecycle.drawing.geometry.places import Point

BETWEEN_TRACKS = 10.0
BEFORE_HEAD, BESIDE_BOX, BESIDE_LABEL, STRAIGHT = 16.0, 10.0, 5.0, 15.0
TOO_CLOSE = 6.0  # two parallel strokes nearer than this are read as one
ON_EACH_OTHER, CROSSING = 100.0, 1.0


@dataclass
class _Leg:
    """The part of a line between two rows. ``stops`` are the places across of its upright pieces, top to bottom."""

    edge: int
    stops: list[float]
    head_above: bool
    head_below: bool
    tracks: list[float] = field(default_factory=list)


@dataclass
class _Piece:
    """A horizontal piece: from where it comes down to where it goes on."""

    leg: _Leg
    number: int

    @property
    def top(self) -> float:
        return self.leg.stops[self.number]

    @property
    def bottom(self) -> float:
        return self.leg.stops[self.number + 1]

    @property
    def span(self) -> Point:
        return min(self.top, self.bottom), max(self.top, self.bottom)


@dataclass
class Routes:
    """Middle of each row along, corners of each line from the upper box to the lower, and the whole length."""

    middles: list[float]
    corners: dict[int, list[Point]]
    length: float


def routes(rows: Rows, columns: Columns, box_heights: Mapping[int, float]) -> Routes:
    """Rows as far apart as the lines between them need, and each line's corners."""
    heights = [max((rows.items[item].height for item in row), default=0.0) for row in columns.rows]
    legs = _legs(rows, columns)
    middles: list[float] = []
    along = 0.0
    for row, height in enumerate(heights):
        middles.append(along + height / 2)
        along += height
        if row + 1 < len(heights) and columns.rows[row]:
            along += _laid(legs[row], along, above=_kind(rows, columns, row), below=_kind(rows, columns, row + 1))
    return Routes(middles, _corners(rows, columns, legs, middles, box_heights), along)


def _kind(rows: Rows, columns: Columns, row: int) -> str:
    return BOX if any(rows.items[item].kind == BOX for item in columns.rows[row]) else LABEL


def _legs(rows: Rows, columns: Columns) -> list[list[_Leg]]:
    legs: list[list[_Leg]] = [[] for _ in columns.rows]
    for edge, chain in rows.chains.items():
        backwards = edge in rows.reversed_edges
        for upper, lower in pairwise(chain):
            top = columns.upper_end[edge] if upper == chain[0] else columns.through[upper]
            bottom = columns.lower_end[edge] if lower == chain[-1] else columns.through[lower]
            leg = _Leg(
                edge,
                [top, bottom],
                head_above=backwards and upper == chain[0],
                head_below=not backwards and lower == chain[-1],
            )
            legs[rows.items[upper].row].append(leg)
    for dot, box in rows.starts:
        stops = [columns.place[dot], columns.start_end[box]]
        legs[rows.items[dot].row].append(_Leg(-1 - box, stops, head_above=False, head_below=True))
    return legs


def _laid(legs: list[_Leg], along: float, *, above: str, below: str) -> float:
    """Gives every horizontal piece between two rows its track; answers with the room they need."""
    pieces = _sorted_pieces(legs)
    if not pieces:
        return STRAIGHT
    bent = [leg for leg in legs if leg.stops[0] != leg.stops[-1]]
    before = _beside(above, head=any(leg.head_above for leg in bent))
    after = _beside(below, head=any(leg.head_below for leg in bent))
    levels: list[int] = []
    for at, piece in enumerate(pieces):
        taken = [levels[other] + 1 for other in range(at) if _share(pieces[other], piece)]
        levels.append(max(taken, default=0))
    for piece, level in zip(pieces, levels, strict=True):
        piece.leg.tracks[piece.number] = along + before + level * BETWEEN_TRACKS
    return before + max(levels) * BETWEEN_TRACKS + after


def _beside(kind: str, *, head: bool) -> float:
    if kind == LABEL:
        return BESIDE_LABEL
    return BEFORE_HEAD if head else BESIDE_BOX


def _share(one: _Piece, other: _Piece) -> bool:
    """Whether two pieces would touch on one track, or their upright ends would."""
    (left, right), (other_left, other_right) = one.span, other.span
    return left < other_right + TOO_CLOSE and other_left < right + TOO_CLOSE


def _sorted_pieces(legs: list[_Leg]) -> list[_Piece]:
    """The horizontal pieces from top to bottom, so that few cross and none lies on another.

    Where each of two would have to be above the other, one is drawn as a stair, with a step between the other's ends.
    """
    while True:
        pieces = [
            _Piece(leg, number)
            for leg in legs
            for number in range(len(leg.stops) - 1)
            if leg.stops[number] != leg.stops[number + 1]
        ]
        for leg in legs:
            leg.tracks = [0.0] * (len(leg.stops) - 1)
        pieces = _searched(pieces)
        stuck = next(
            (
                lower.leg
                for at, upper in enumerate(pieces)
                for lower in pieces[at + 1 :]
                if _price(upper, lower) >= ON_EACH_OTHER
            ),
            None,
        )
        if stuck is None or len(stuck.stops) > 3:
            return pieces
        stuck.stops.insert(1, _free_place(stuck, legs))


def _searched(pieces: list[_Piece]) -> list[_Piece]:
    """Local search: move single pieces up or down while that saves crossings."""
    order = sorted(pieces, key=lambda piece: (piece.top - piece.bottom if piece.top > piece.bottom else 0, piece.top))
    count = len(order)
    price = [[_price(one, other) for other in order] for one in order]
    ranking = list(range(count))
    for _ in range(2 * count):
        best = (-1e-9, 0, 0)
        for at in range(count):
            piece = ranking[at]
            for step in (-1, 1):
                cost = 0.0
                to = at + step
                while 0 <= to < count:
                    other = ranking[to]
                    to_front = price[piece][other] - price[other][piece]
                    cost += to_front if step < 0 else -to_front
                    if cost < best[0]:
                        best = (cost, at, to)
                    to += step
        if best[0] > -1e-6:
            break
        ranking.insert(best[2], ranking.pop(best[1]))
    return [order[number] for number in ranking]


def _price(upper: _Piece, lower: _Piece) -> float:
    """What it costs to have one piece above another."""
    if upper.leg is lower.leg:
        return 0.0 if upper.number < lower.number else 10 * ON_EACH_OTHER
    left, right = upper.span
    other_left, other_right = lower.span
    cost = 0.0
    if left < lower.top < right:
        cost += CROSSING
    if other_left < upper.bottom < other_right:
        cost += CROSSING
    if abs(upper.bottom - lower.top) < TOO_CLOSE:
        cost += ON_EACH_OTHER
    return cost


def _free_place(stuck: _Leg, legs: Sequence[_Leg]) -> float:
    """A place across for the step of a stair, between its ends where that is free, away from every upright piece."""
    taken = [stop for leg in legs for stop in leg.stops]
    middle = (stuck.stops[0] + stuck.stops[-1]) / 2
    wishes = (round(middle) + side * offset for offset in range(0, 4000, 2) for side in (1, -1))
    return next(wish for wish in wishes if all(abs(wish - stop) >= TOO_CLOSE for stop in taken))


def _corners(
    rows: Rows,
    columns: Columns,
    legs: Sequence[Sequence[_Leg]],
    middles: Sequence[float],
    box_heights: Mapping[int, float],
) -> dict[int, list[Point]]:
    found: dict[int, list[Point]] = {}
    by_edge: dict[int, list[_Leg]] = {}
    for row in legs:
        for leg in row:
            by_edge.setdefault(leg.edge, []).append(leg)
    for edge, chain in rows.chains.items():
        upper, lower = chain[0], chain[-1]
        points = [(columns.upper_end[edge], middles[rows.items[upper].row] + box_heights[upper] / 2)]
        for leg in by_edge[edge]:
            for number, track in enumerate(leg.tracks):
                if leg.stops[number] != leg.stops[number + 1]:
                    points += [(leg.stops[number], track), (leg.stops[number + 1], track)]
        points.append((columns.lower_end[edge], middles[rows.items[lower].row] - box_heights[lower] / 2))
        found[edge] = straightened(points)
    for dot, box in rows.starts:
        leg = by_edge[-1 - box][0]
        points = [(columns.place[dot], middles[rows.items[dot].row])]
        for number, track in enumerate(leg.tracks):
            if leg.stops[number] != leg.stops[number + 1]:
                points += [(leg.stops[number], track), (leg.stops[number + 1], track)]
        points.append((columns.start_end[box], middles[rows.items[box].row] - box_heights[box] / 2))
        found[-1 - box] = straightened(points)
    return found


def straightened(points: Sequence[Point]) -> list[Point]:
    """The corners alone: points in the middle of a straight stroke are left out."""
    kept: list[Point] = []
    for point in points:
        if kept and point == kept[-1]:
            continue
        if len(kept) > 1 and (kept[-2][0] == kept[-1][0] == point[0] or kept[-2][1] == kept[-1][1] == point[1]):
            kept[-1] = point
        else:
            kept.append(point)
    return kept
