"""How the lines of a picture run: straight where they can, through their labels, past those of others."""

from __future__ import annotations

from itertools import pairwise

import pytest
from django.utils import translation
from hypothesis import HealthCheck, given, settings

from lifecycle import registry
from lifecycle.definition.compiled import Definition
from lifecycle.drawing import layout, svg
from lifecycle.drawing.geometry.places import Layout
from orders.lifecycles import OrderLifecycle
from tests.drawing.corners import corners, lines, straight
from tests.drawing.definitions import REVIEW, SUBSCRIPTION, TICKET, definitions
from tests.drawing.faults import faults

ORDERS = OrderLifecycle.definition
# What the picture of each has at the most and at the least. A loop bends twice and cannot do without.
RUNS = [(ORDERS, 18, 22, 10), (TICKET, 27, 48, 7), (SUBSCRIPTION, 10, 14, 3), (REVIEW, 4, 0, 4)]
pytestmark = pytest.mark.once
slowly = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def turns_under_labels(picture: Layout) -> list[tuple[str, str]]:
    """The lines that come out of their labels elsewhere than they went in."""
    found = []
    for edge in picture.edges:
        along = 0 if picture.to_the_right else 1
        start, length = (edge.back.x, edge.back.y)[along], (edge.back.width, edge.back.height)[along]
        under = [
            (one, other)
            for one, other in pairwise(edge.corners)
            if min(one[along], other[along]) < start + length and max(one[along], other[along]) > start
        ]
        is_loop = edge.source == edge.target  # beside its label, not through it
        if not is_loop and len(under) != 1:
            found.append((edge.source, edge.target))
    return found


@pytest.mark.parametrize(
    ("definition", "count", "most_corners", "least_straight"), RUNS, ids=[definition.name for definition, *_ in RUNS]
)
def test_lines_bend_seldom_and_many_are_straight(
    definition: Definition, count: int, most_corners: int, least_straight: int
) -> None:
    text = svg(definition)
    assert len(lines(text)) == count
    assert corners(text) <= most_corners
    assert straight(text) >= least_straight


@slowly
@given(definitions())
def test_a_line_runs_straight_through_its_labels(definition: Definition) -> None:
    assert turns_under_labels(layout(definition)) == []


@pytest.mark.parametrize("definition", [ORDERS, TICKET, SUBSCRIPTION, REVIEW], ids=lambda definition: definition.name)
def test_a_line_of_a_known_lifecycle_runs_straight_through_its_labels(definition: Definition) -> None:
    assert turns_under_labels(layout(definition)) == []


def test_the_orders_picture_is_as_quiet_in_german() -> None:
    with translation.override("de"):
        text = svg(ORDERS)
    assert "Zahlung" in text
    assert corners(text) <= 22
    assert straight(text) >= 10


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_lifecycle_of_the_tests_is_drawn_without_a_fault_in_both_languages(language: str) -> None:
    with translation.override(language):
        for definition in registry.all():
            assert faults(layout(definition)) == [], definition.name
            assert turns_under_labels(layout(definition)) == [], definition.name
