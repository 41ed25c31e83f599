"""Kink: a small step in a line, worse to look at than one honest bend elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from lifecycle.drawing.simplex import Places

VISIBLE = 6  # a join of at least this weight is seen; lighter ones are hidden behind labels or wishes for the middle
# A step of at most this many pixels is a kink.
KINK, KINK_COUNTS, DEARER, STRAIGHTENINGS = 20.0, 2.0, 4, 3


def without_kinks(
    x: Sequence[float], near: Sequence[tuple[int, int, int]], apart: Sequence[tuple[int, int, float]]
) -> list[float]:
    """The best places, and then again with a higher price on small steps, as long as that leaves fewer of them."""
    priced = list(near)
    best = found = Places(x, near=near, apart=apart).best()
    for _ in range(STRAIGHTENINGS):
        kinks = [
            number for number, (a, b, weight) in enumerate(near) if weight >= VISIBLE and _is_kink(found[a] - found[b])
        ]
        if not kinks:
            break
        for number in kinks:
            a, b, weight = priced[number]
            priced[number] = (a, b, weight * DEARER)
        found = Places(found, near=priced, apart=apart).best()
        if _ugliness(found, near) < _ugliness(best, near):
            best = found
    return best


def _is_kink(step: float) -> bool:
    return 0.25 < abs(step) <= KINK


def _ugliness(x: Sequence[float], near: Sequence[tuple[int, int, int]]) -> float:
    """Steps of lines outside labels, the small ones counting more: they are worse to look at than one honest bend."""
    ugly = 0.0
    for a, b, weight in near:
        if weight >= VISIBLE and x[a] != x[b]:
            ugly += weight * (KINK_COUNTS if _is_kink(x[a] - x[b]) else 1.0)
    return ugly
