"""Coordinate: how far to the right everything stands, lines straight before everything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lifecycle.drawing.geometry.bends import BEND, MAIN_BEND, Join, straightest
from lifecycle.drawing.geometry.layers import BOX, LABEL, LINE, START, Item, Rows
from lifecycle.drawing.geometry.order import Ordered, mirrored, orders
from lifecycle.drawing.geometry.simplex import Places
from lifecycle.drawing.graph import Graph

BETWEEN_BOXES, BETWEEN_LINES, LINE_TO_BOX = 26.0, 14.0, 20.0
LEFT_OF_LABEL, RIGHT_OF_LABEL = 18.0, 12.0  # the number of a step stands at a label's left shoulder
BETWEEN_ENDS, CORNER = 12.0, 8.0
# A line may run through its label off the middle.
SHOULDER, FAR_OFF, FAR_OFF_BARE = 8.0, 36.0, 20.0

# What a pixel off the straight costs: inside a long line, at a box, at a dot; what keeps ends and labels in the middle.
LONG, AT_BOX, AT_START = 128, 6, 40
NEIGHBOURS, MAIN = 4, 2
END_TO_MIDDLE, LABEL_TO_MIDDLE = 1, 2
CROSSING, DISORDER = 70, 120
WIDTH, WIDTH_NEAR = 2, 6


@dataclass
class Columns:
    """Where everything stands across: boxes, labels and lines by item, ends on boxes by line.

    ``through`` is where a line runs through each of its items: through a label not always in its middle.
    """

    rows: tuple[tuple[int, ...], ...]
    cost: float
    place: dict[int, float] = field(default_factory=dict)
    through: dict[int, float] = field(default_factory=dict)
    upper_end: dict[int, float] = field(default_factory=dict)
    lower_end: dict[int, float] = field(default_factory=dict)
    start_end: dict[int, float] = field(default_factory=dict)


def columns(graph: Graph, rows: Rows, *, narrow: bool) -> Columns:
    """The best of the best orders: few crossings, few bends, not wide, states in the order of declaration."""
    best: tuple[float, Columns] | None = None
    for order in orders(rows):
        problem = _Problem(graph, rows, order)
        if problem.stands_against_declaration():
            problem = _Problem(graph, rows, mirrored(order))
        found = problem.fine(problem.coarse())
        cost = found.cost + (WIDTH_NEAR if narrow else WIDTH) * problem.width(found.place)
        cost += CROSSING * order.crossings + DISORDER * problem.disorder()
        if best is None or cost < best[0]:
            best = cost, found
    assert best is not None, "rows have an order"
    return best[1]


class _Problem:
    """One order of the rows, as places to find and distances to keep.

    A place is a box, a dot or a *run*: the part of a line that is to be one straight stroke, labels included. Only
    where two long lines cross, one of them is two runs.
    """

    def __init__(self, graph: Graph, rows: Rows, order: Ordered) -> None:
        self.graph = graph
        self.rows = rows
        self.order = order
        self.at = {item: at for row in order.rows for at, item in enumerate(row)}
        self.breaks = self._breaks()

    def width(self, place: Mapping[int, float]) -> float:
        items = self.rows.items
        left = min(place[index] - item.left for index, item in enumerate(items))
        return max(place[index] + item.right for index, item in enumerate(items)) - left

    def disorder(self) -> int:
        """Neighbours in a row that stand the other way round than they were declared."""
        return sum(one > other for row in self._boxes() for one, other in pairwise(row))

    def stands_against_declaration(self) -> bool:
        turned = total = 0
        for row in self._boxes():
            for at, one in enumerate(row):
                total += len(row) - at - 1
                turned += sum(one > other for other in row[at + 1 :])
        return turned * 2 > total

    def _boxes(self) -> Iterable[list[int]]:
        items = self.rows.items
        for row in self.order.rows:
            yield [
                items[item].node
                for item in row
                if items[item].kind == BOX and self.graph.nodes[items[item].node].is_state
            ]

    def _breaks(self) -> set[tuple[int, int]]:
        """The joins at which a long line steps aside, because another long one crosses it there."""
        inner: dict[int, list[tuple[int, int, int]]] = {}
        for edge, chain in self.rows.chains.items():
            for upper, lower in pairwise(chain[1:-1]):
                inner.setdefault(self.rows.items[upper].row, []).append((edge, upper, lower))
        broken: set[tuple[int, int]] = set()
        for joins in inner.values():
            for number, (_, upper, lower) in enumerate(joins):
                for _, other_upper, other_lower in joins[:number]:
                    if (other_upper, other_lower) in broken:
                        continue
                    if (self.at[upper] < self.at[other_upper]) != (self.at[lower] < self.at[other_lower]):
                        broken.add((upper, lower))
                        break
        return broken

    # Coarse: lines end in the middle of their boxes ---------------------------------------------------

    def coarse(self) -> list[float]:
        """Places for boxes and runs."""
        self.run: dict[int, int] = {}
        near: list[tuple[int, int, int]] = []
        for index, one in enumerate(self.rows.items):
            if one.kind in {BOX, START}:
                self.run[index] = len(self.run)
        count = len(self.run)
        for edge, chain in self.rows.chains.items():
            for before, item in pairwise(chain[:-1]):
                if before == chain[0]:
                    self.run[item] = count
                    near.append((self.run[before], count, self._weight(edge)))
                    count += 1
                elif (before, item) in self.breaks:
                    self.run[item] = count
                    near.append((self.run[before], count, LONG))
                    count += 1
                else:
                    self.run[item] = self.run[before]
            near.append((self.run[chain[-2]], self.run[chain[-1]], self._weight(edge)))
        near += [(self.run[dot], self.run[box], AT_START) for dot, box in self.rows.starts]
        apart = self._apart(self.run)
        return Places(_packed(count, apart), near=near, apart=apart).best()

    def _weight(self, edge: int) -> int:
        one = self.graph.edges[edge]
        chain = self.rows.chains[edge]
        upper, lower = (self.rows.items[end].node for end in (chain[0], chain[-1]))
        weight = AT_BOX + (NEIGHBOURS if abs(upper - lower) == 1 else 0)
        return weight * MAIN if one.main else weight

    def _apart(self, place: dict[int, int]) -> list[tuple[int, int, float]]:
        items = self.rows.items
        wide: dict[tuple[int, int], float] = {}
        for row in self.order.rows:
            for left, right in pairwise(row):
                one, other = items[left], items[right]
                distance = one.right + other.left + distance_between(one, other)
                pair = place[left], place[right]
                wide[pair] = max(distance, wide.get(pair, 0.0))
        return [(left, right, distance) for (left, right), distance in wide.items()]

    # Fine: each end has its own place on its box ------------------------------------------------------

    def fine(self, coarse: Sequence[float]) -> Columns:
        """Places for everything, lines as straight as the boxes' borders and the labels' backs allow."""
        x: list[float] = []
        joins: list[Join] = []
        place: dict[int, int] = {}
        through: dict[int, int] = {}
        apart: list[tuple[int, int, float]] = []

        def new(value: float) -> int:
            x.append(value)
            return len(x) - 1

        for index, one in enumerate(self.rows.items):
            if one.kind in {BOX, START}:
                place[index] = new(coarse[self.run[index]])
        for chain in self.rows.chains.values():
            for before, item in pairwise(chain[:-1]):
                if before == chain[0]:
                    through[item] = new(coarse[self.run[item]])
                elif (before, item) in self.breaks:
                    through[item] = new(coarse[self.run[item]])
                    joins.append(Join(through[before], through[item], LONG, BEND))
                else:
                    through[item] = through[before]
                if self.rows.items[item].kind == LINE:
                    place[item] = through[item]
                    continue
                place[item] = new(coarse[self.run[item]])
                slack = self._slack(item)
                joins.append(Join(place[item], through[item], LABEL_TO_MIDDLE))
                apart += [(place[item], through[item], -slack), (through[item], place[item], -slack)]
        ends = self._ends(x, place, joins, apart)
        for edge, chain in self.rows.chains.items():
            bend = MAIN_BEND if self.graph.edges[edge].main else BEND
            joins.append(Join(ends[edge, True], through[chain[1]], self._weight(edge), bend))
            joins.append(Join(through[chain[-2]], ends[edge, False], self._weight(edge), bend))
        for dot, box in self.rows.starts:
            joins.append(Join(place[dot], ends[-1 - box, False], AT_START, BEND))
        apart += self._apart(place)
        best = straightest(x, joins, apart)
        found = Columns(self.order.rows, best.cost)
        found.place = {item: best.places[number] for item, number in place.items()}
        found.through = {item: best.places[number] for item, number in through.items()}
        for (edge, is_upper), number in ends.items():
            kept = found.start_end if edge < 0 else found.upper_end if is_upper else found.lower_end
            kept[-1 - edge if edge < 0 else edge] = best.places[number]
        return found

    def _slack(self, item: int) -> float:
        """How far off a label's middle its line may be: further where an outline holds the two together."""
        one = self.rows.items[item]
        outlined = all(label.manual for label in self.graph.edges[one.edge].labels)
        return min(FAR_OFF if outlined else FAR_OFF_BARE, max(0.0, one.right - SHOULDER))

    def _ends(
        self,
        x: list[float],
        place: dict[int, int],
        joins: list[Join],
        apart: list[tuple[int, int, float]],
    ) -> dict[tuple[int, bool], int]:
        """A place per end of a line on a box; on each side they keep the order of what they lead to."""
        sides: dict[tuple[int, bool], list[tuple[int, tuple[int, bool], int]]] = {}
        for edge, chain in self.rows.chains.items():
            pull = END_TO_MIDDLE * (MAIN if self.graph.edges[edge].main else 1)
            sides.setdefault((chain[0], True), []).append((self.at[chain[1]], (edge, True), pull))
            sides.setdefault((chain[-1], False), []).append((self.at[chain[-2]], (edge, False), pull))
        for dot, box in self.rows.starts:
            sides.setdefault((box, False), []).append((self.at[dot], (-1 - box, False), AT_START))
        ends: dict[tuple[int, bool], int] = {}
        for (box, _), side in sides.items():
            side.sort()
            border = self.rows.items[box].left - CORNER
            middle = x[place[box]]
            for number, (_, end, pull) in enumerate(side):
                x.append(middle + (number - (len(side) - 1) / 2) * BETWEEN_ENDS)
                here = len(x) - 1
                ends[end] = here
                joins.append(Join(place[box], here, pull))
                if number:
                    apart.append((here - 1, here, BETWEEN_ENDS))
            first, last = ends[side[0][1]], ends[side[-1][1]]
            apart += [(place[box], first, -border), (last, place[box], -border)]
        return ends


def room_for_ends(count: int) -> float:
    """How wide a box must be for so many ends on one side."""
    return max(0, count - 1) * BETWEEN_ENDS + 2 * CORNER


def distance_between(left: Item, right: Item) -> float:
    """The room between two neighbours in a row."""
    if right.kind == LABEL:
        return LEFT_OF_LABEL
    if left.kind == LABEL:
        return RIGHT_OF_LABEL
    if left.kind == BOX and right.kind == BOX:
        return BETWEEN_BOXES
    if left.kind == LINE and right.kind == LINE:
        return BETWEEN_LINES
    return LINE_TO_BOX


def _packed(count: int, apart: Sequence[tuple[int, int, float]]) -> list[float]:
    """Everything as far to the left as the distances allow: places to start from."""
    after: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    waits = [0] * count
    for left, right, distance in apart:
        after[left].append((right, distance))
        waits[right] += 1
    x = [0.0] * count
    ready = [place for place in range(count) if not waits[place]]
    for left in ready:
        for right, distance in after[left]:
            x[right] = max(x[right], x[left] + distance)
            waits[right] -= 1
            if not waits[right]:
                ready.append(right)
    assert len(ready) == count, "runs that do not cross always have an order from left to right"
    return x
