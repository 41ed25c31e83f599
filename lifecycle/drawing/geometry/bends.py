"""Bend: where a line steps aside. One bend fewer is worth more than a shorter way, and a small step is the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

from lifecycle.drawing.geometry.simplex import Places

BEND, MAIN_BEND = 100.0, 150.0
SMALL, SMALL_BEND = 20.0, 60.0  # a step of so few pixels looks like a mistake
LENGTH, WIDTH = 0.1, 1.0
# Weight is what a pixel costs, so many light steps can outweigh one straight line: a firm join weighs more than all.
FIRM = 100
# Each try is a search of its own: the more places, the fewer tries.
MOST_TRIES, LEAST_TRIES, WORK = 60, 12, 9000


class Join(NamedTuple):
    """Two places a line would join straight; ``bend`` is the price of a step between them, 0 for a wish."""

    a: int
    b: int
    weight: int
    bend: float = 0.0


@dataclass(frozen=True)
class Straight:
    """Places, and what their bends, their length and their width cost."""

    places: list[float]
    cost: float


def straightest(start: Sequence[float], joins: Sequence[Join], apart: Sequence[tuple[int, int, float]]) -> Straight:
    """The places with the fewest bends a local search finds.

    The simplex minimises how far lines step aside; it would rather step twice by ten pixels than once by thirty. So
    one bent join after the other, the smallest step first, is made firm, and stays so if that costs less as a whole.
    """
    weights = [join.weight for join in joins]
    best = _solved(start, joins, weights, apart)
    tried: set[int] = set()
    for _ in range(max(LEAST_TRIES, min(MOST_TRIES, WORK // len(start)))):
        bent = [
            (abs(_step(best.places, join)), number)
            for number, join in enumerate(joins)
            if join.bend and number not in tried and _step(best.places, join)
        ]
        if not bent:
            break
        _, number = min(bent)
        tried.add(number)
        weights[number] *= FIRM
        found = _solved(best.places, joins, weights, apart)
        if found.cost < best.cost:
            best = found
        else:
            weights[number] //= FIRM
    return best


def _solved(
    start: Sequence[float], joins: Sequence[Join], weights: Sequence[int], apart: Sequence[tuple[int, int, float]]
) -> Straight:
    near = [(join.a, join.b, weight) for join, weight in zip(joins, weights, strict=True)]
    # Halves: the search is exact with them and lines stay sharp. Rounding down keeps every distance: a half as well.
    places = [floor(place * 2) / 2 for place in Places(start, near=near, apart=apart).best()]
    return Straight(places, _cost(places, joins))


def _cost(places: Sequence[float], joins: Sequence[Join]) -> float:
    cost = WIDTH * (max(places) - min(places))
    for join in joins:
        step = abs(_step(places, join))
        cost += LENGTH * join.weight * step
        if join.bend and step:
            cost += join.bend + (SMALL_BEND if step <= SMALL else 0.0)
    return cost


def _step(places: Sequence[float], join: Join) -> float:
    return places[join.a] - places[join.b]
