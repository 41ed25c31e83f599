"""Order: who stands left of whom in each row, so that few lines cross."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lifecycle.drawing.geometry.layers import BOX, START, Rows

SWEEPS = 10
STARTS = 24
# Rows of this many items together get all the starts; larger pictures fewer: finding a place for each takes longer.
WORK = 1400
FEWEST_STARTS = 4
KEPT = 5
# A crossing of two long lines is harder to follow than one beside a box.
NEAR_BOX, FAR = 2, 3


@dataclass(frozen=True)
class Ordered:
    """One order of all rows and what its crossings cost."""

    rows: tuple[tuple[int, ...], ...]
    crossings: int


class _Links:
    """Which items are joined to which in the row above and below, and what it costs when two joins cross."""

    def __init__(self, rows: Rows) -> None:
        count = len(rows.items)
        self.above: list[list[int]] = [[] for _ in range(count)]
        self.below: list[list[int]] = [[] for _ in range(count)]
        self.is_box = [item.kind in {BOX, START} for item in rows.items]
        pairs = [(upper, lower) for chain in rows.chains.values() for upper, lower in pairwise(chain)]
        for upper, lower in [*pairs, *rows.starts]:
            self.below[upper].append(lower)
            self.above[lower].append(upper)


def orders(rows: Rows) -> list[Ordered]:
    """The best few orders, the least crossings first; the same for the same rows."""
    links = _Links(rows)
    found: dict[tuple[tuple[int, ...], ...], int] = {}
    seen: set[tuple[tuple[int, ...], ...]] = set()
    for start in _starts(rows, links):
        best = _swept(start, links, seen)
        if best is not None:
            found[best.rows] = best.crossings
    ranked = sorted(found.items(), key=lambda item: item[1])
    least = ranked[0][1]
    return [Ordered(order, crossings) for order, crossings in ranked[:KEPT] if crossings <= least + NEAR_BOX]


def _starts(rows: Rows, links: _Links) -> Iterator[list[list[int]]]:
    first = _depth_first(rows, links)
    yield first
    yield [row[::-1] for row in first]
    random = _Random()
    for _ in range(min(STARTS, max(FEWEST_STARTS, WORK // len(rows.items))) - 2):
        yield [random.shuffled(row) for row in first]


def _depth_first(rows: Rows, links: _Links) -> list[list[int]]:
    order: list[list[int]] = [[] for _ in rows.rows]
    seen: set[int] = set()
    for top in sorted(range(len(rows.items)), key=lambda item: rows.items[item].row):
        ahead = [top]
        while ahead:
            item = ahead.pop()
            if item in seen:
                continue
            seen.add(item)
            order[rows.items[item].row].append(item)
            ahead += reversed(links.below[item])
    return order


class _Random:
    """Random numbers that are the same on every machine and in every version of Python."""

    def __init__(self) -> None:
        self.state = 20240312

    def shuffled(self, row: Sequence[int]) -> list[int]:
        mixed = list(row)
        for last in range(len(mixed) - 1, 0, -1):
            self.state = (self.state * 1103515245 + 12345) % 2**31
            other = (self.state >> 8) % (last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed


def _swept(rows: list[list[int]], links: _Links, seen: set[tuple[tuple[int, ...], ...]]) -> Ordered | None:
    """Sweeps down and up until nothing gets better; None when another start has led here before."""
    best: Ordered | None = None
    stale = 0
    for _ in range(SWEEPS):
        for downwards in (True, False):
            _sweep(rows, links, downwards=downwards)
        key = tuple(map(tuple, rows))
        if key in seen:
            break
        seen.add(key)
        crossings = _crossings(rows, links)
        if best is None or crossings < best.crossings:
            best, stale = Ordered(key, crossings), 0
        else:
            stale += 1
        if stale == 2 or not best.crossings:
            break
    if best is None:
        return None
    swapped = _swapped([list(row) for row in best.rows], links)
    return Ordered(tuple(map(tuple, swapped)), _crossings(swapped, links))


def _sweep(rows: list[list[int]], links: _Links, *, downwards: bool) -> None:
    """Puts each row in the order of the means of median and barycentre of what its items are joined to."""
    joined = links.above if downwards else links.below
    places: dict[int, float] = {}
    for row in rows if downwards else reversed(rows):
        wishes: dict[int, float] = {}
        for at, item in enumerate(row):
            near = joined[item]
            if not near:
                wishes[item] = (at + 0.5) / len(row)
            elif len(near) == 1:
                wishes[item] = places[near[0]]
            else:
                values = sorted([places[other] for other in near])
                middle = len(values) // 2
                median = values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
                wishes[item] = (median + sum(values) / len(values)) / 2
        row.sort(key=wishes.__getitem__)
        # Relative places, so that long and short rows compare.
        places = {item: (at + 0.5) / len(row) for at, item in enumerate(row)}


def _crossings(rows: Sequence[Sequence[int]], links: _Links) -> int:
    return sum(_between(upper, lower, links) for upper, lower in pairwise(rows))


def _between(upper: Sequence[int], lower: Sequence[int], links: _Links) -> int:
    at = {item: place for place, item in enumerate(lower)}
    below, is_box = links.below, links.is_box
    cost = 0
    passed: list[tuple[int, bool]] = []
    for item in upper:
        ends = [(at[other], not (is_box[item] or is_box[other])) for other in below[item]]
        for end, far in ends:
            for other, other_far in passed:
                if other > end:
                    cost += FAR if far and other_far else NEAR_BOX
        passed += ends
    return cost


def _swapped(rows: list[list[int]], links: _Links) -> list[list[int]]:
    """Swaps neighbours while that removes crossings."""
    for _ in range(SWEEPS):
        better = False
        for number, row in enumerate(rows):
            above = {item: at for at, item in enumerate(rows[number - 1])} if number else {}
            below = {item: at for at, item in enumerate(rows[number + 1])} if number + 1 < len(rows) else {}
            for at in range(len(row) - 1):
                left, right = row[at], row[at + 1]
                saved = _saved(left, right, links.above, above, links) + _saved(left, right, links.below, below, links)
                if saved > 0:
                    row[at], row[at + 1] = right, left
                    better = True
        if not better:
            break
    return rows


def _saved(left: int, right: int, joined: list[list[int]], at: dict[int, int], links: _Links) -> int:
    saved = 0
    is_box = links.is_box
    near_box = is_box[left] or is_box[right]
    for one in joined[left]:
        for other in joined[right]:
            cost = NEAR_BOX if near_box or is_box[one] or is_box[other] else FAR
            saved += cost * ((at[one] > at[other]) - (at[one] < at[other]))
    return saved


def mirrored(order: Ordered) -> Ordered:
    """The same order from right to left."""
    return Ordered(tuple(row[::-1] for row in order.rows), order.crossings)
