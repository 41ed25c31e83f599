"""Best places on a line."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle.drawing.geometry.simplex import Places

pytestmark = pytest.mark.once

Near = list[tuple[int, int, int]]
Apart = list[tuple[int, int, float]]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[float], Near, Apart]:
    count = draw(st.integers(2, 6))
    near: Near = []
    apart: Apart = []
    for left in range(count):
        for right in range(left + 1, count):
            if draw(st.booleans()):
                near.append((left, right, draw(st.integers(1, 9))))
            if draw(st.booleans()):
                apart.append((left, right, draw(st.integers(0, 4))))
    start = [0.0] * count
    for place in range(count):
        start[place] = max([0.0, *(start[left] + distance for left, right, distance in apart if right == place)])
    return start, near, apart


def cost(x: list[float], near: Near) -> float:
    return sum(weight * abs(x[a] - x[b]) for a, b, weight in near)


def keeps(x: list[float], apart: Apart) -> bool:
    return all(x[right] - x[left] >= distance for left, right, distance in apart)


@settings(deadline=None, derandomize=True)
@given(problems())
def test_distances_are_kept_and_no_group_could_move_and_make_it_cheaper(
    problem: tuple[list[float], Near, Apart],
) -> None:
    start, near, apart = problem
    x = Places(start, near=near, apart=apart).best()
    assert keeps(x, apart)
    # For costs of this kind, what no group of places can improve by a small step cannot be improved at all.
    for group in product((0, 1), repeat=len(x)):
        for step in (0.5, -0.5):
            moved = [place + step * chosen for place, chosen in zip(x, group, strict=True)]
            assert not keeps(moved, apart) or cost(moved, near) >= cost(x, near)


def test_a_place_with_equal_pulls_from_both_sides_stands_in_the_middle() -> None:
    x = Places([0, 10, 50], near=[(0, 1, 1), (1, 2, 1)], apart=[(0, 2, 50)]).best()
    assert x[1] - x[0] == x[2] - x[1] == 25


def test_the_heavier_pull_wins() -> None:
    x = Places([0, 10, 50], near=[(0, 1, 1), (1, 2, 3)], apart=[(0, 2, 50)]).best()
    assert x[1] == x[2]


def test_pulls_shorten_the_lines_of_a_ladder() -> None:
    # 0 over 1 over 2, and 3 somewhere between 0 and 2 but drawn to 2.
    apart: Apart = [(0, 1, 1), (1, 2, 1), (0, 3, 1), (3, 2, 1)]
    x = Places([0, 1, 5, 1], pulls=[-3, 0, 4, -1], apart=apart).best()
    assert [place - x[0] for place in x[:3]] == [0, 1, 2]
