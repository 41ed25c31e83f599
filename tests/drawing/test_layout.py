"""Where things stand in a lifecycle's picture."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings

from lifecycle.definition.compiled import Definition
from lifecycle.drawing import layout
from lifecycle.drawing.geometry.layers import order_of_states
from lifecycle.drawing.geometry.layouts import laid_out
from lifecycle.drawing.geometry.places import Layout, PlacedEdge, Rect
from lifecycle.drawing.geometry.sizes import Style
from lifecycle.drawing.graph import Step, graph_of, near, without_tones
from orders.lifecycles import OrderLifecycle
from tests.drawing.definitions import ANY, REVIEW, SUBSCRIPTION, TICKET, Way, define, definitions
from tests.drawing.faults import faults

ORDERS = OrderLifecycle.definition
KNOWN = [ORDERS, TICKET, SUBSCRIPTION, REVIEW]
pytestmark = pytest.mark.once
slowly = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def drawn(definition: Definition, style: Style = Style()) -> Layout:  # noqa: B008
    return laid_out(without_tones(graph_of(definition)), style)


def box(picture: Layout, state: str) -> Rect:
    return next(node.box for node in picture.nodes if node.name == state)


@slowly
@given(definitions())
def test_no_drawing_has_a_fault(definition: Definition) -> None:
    assert faults(drawn(definition)) == []


@slowly
@given(definitions())
def test_no_near_drawing_and_none_with_counts_has_a_fault(definition: Definition) -> None:
    assert faults(drawn(definition, Style(near=True))) == []
    assert faults(drawn(definition, Style(count_width=24, second_width=120))) == []


@settings(slowly, max_examples=8)
@given(definitions())
def test_the_same_lifecycle_is_laid_out_the_same(definition: Definition) -> None:
    graph = without_tones(graph_of(definition))
    assert laid_out.__wrapped__(graph) == laid_out.__wrapped__(graph)


@pytest.mark.parametrize("definition", KNOWN, ids=lambda definition: definition.name)
def test_known_lifecycles_are_drawn_without_a_fault(definition: Definition) -> None:
    assert faults(drawn(definition)) == []


def test_the_checker_sees_labels_on_boxes_lines_on_lines_and_lines_that_end_nowhere() -> None:
    good = drawn(ORDERS)
    first, second, *others = good.edges
    moved = PlacedEdge(first.source, first.target, first.corners, box(good, "paid"), first.labels)
    assert any(
        fault.startswith("box paid lies on label") for fault in faults(replace(good, edges=(moved, second, *others)))
    )
    copied = PlacedEdge(first.source, first.target, second.corners, first.back, first.labels)
    found = faults(replace(good, edges=(copied, second, *others)))
    assert any("lies on" in fault for fault in found)
    assert any("does not end on" in fault for fault in found)


def test_the_order_of_a_process_is_kept_while_few_lines_run_back() -> None:
    picture = drawn(ORDERS)
    tops = [box(picture, state).y for state in ("draft", "creating_checkout", "awaiting_payment", "payment_failed")]
    assert tops == sorted(tops)
    assert len(set(tops)) == 4
    assert box(picture, "refunding").y > box(picture, "cancelled").y


def test_a_declaration_that_runs_against_its_own_transitions_is_turned_round() -> None:
    states = {name: name for name in ("start", "last", "middle")}
    ways = [Way("one", "start", "middle"), Way("two", "middle", "last"), Way("three", "middle", "last start")]
    graph = graph_of(define(states, ways, initial="start"))
    assert [graph.nodes[index].name for index in order_of_states(graph)] == ["start", "middle", "last"]


def test_the_first_initial_state_stands_on_top() -> None:
    states = {name: name for name in ("a", "b", "c")}
    definition = define(states, [Way("one", "b", "a c"), Way("two", "a", "b"), Way("three", "c", "a b")], initial="b")
    picture = drawn(definition)
    assert box(picture, "b").y == min(node.box.y for node in picture.nodes)


def test_transitions_between_the_same_two_states_share_a_line() -> None:
    picture = drawn(ORDERS)
    shared = next(edge for edge in picture.edges if (edge.source, edge.target) == ("awaiting_payment", "cancelled"))
    assert [label.transition for label in shared.labels] == ["cancel", "expire"]
    assert shared.labels[0].box.y + shared.labels[0].box.height < shared.labels[1].box.y


def test_a_transition_from_any_state_starts_in_one_pill() -> None:
    graph = graph_of(SUBSCRIPTION)
    pill = next(node for node in graph.nodes if node.is_pill)
    assert pill.text == "Any state"
    assert pill.covers == ("trial", "active", "past_due", "paused")
    assert [edge.source for edge in graph.edges if edge.target == "ended"] == [pill.name]


def test_six_sources_make_a_pill_and_five_do_not() -> None:
    states = {f"s{number}": str(number) for number in range(8)}

    def sources(count: int) -> list[str]:
        way = Way("stop", " ".join(list(states)[:count]), "s7")
        return [edge.source for edge in graph_of(define(states, [way], initial="s0")).edges]

    assert sources(5) == ["s0", "s1", "s2", "s3", "s4"]
    assert sources(6) == ["$any0"]


def test_any_but_one_state_says_which() -> None:
    states = {name: name.upper() for name in ("a", "b", "c", "d", "e", "f", "g")}
    definition = define(states, [Way("stop", "a b c d e f", "g")], initial="a")
    assert [node.text for node in graph_of(definition).nodes if node.is_pill] == ["Any state except G"]


def test_a_plain_chain_of_up_to_six_states_is_drawn_to_the_right() -> None:
    picture = drawn(REVIEW)
    assert picture.to_the_right
    assert len({node.box.middle[1] for node in picture.nodes}) == 1
    lefts = [node.box.x for node in picture.nodes]
    assert lefts == sorted(lefts)


def test_a_chain_of_seven_states_one_with_a_way_back_and_a_near_one_are_drawn_down() -> None:
    states = {f"s{number}": str(number) for number in range(7)}
    ways = [Way(f"t{number}", f"s{number}", f"s{number + 1}") for number in range(6)]
    assert not drawn(define(states, ways, initial="s0")).to_the_right
    three = {name: name for name in "abc"}
    back = [Way("one", "a", "b"), Way("two", "b", "c"), Way("back", "b", "a")]
    assert not drawn(define(three, back, initial="a")).to_the_right
    assert not drawn(REVIEW, Style(near=True)).to_the_right


def test_two_states_of_which_one_leads_to_itself_are_no_chain_and_stand_inside_their_picture() -> None:
    picture = drawn(define({"a": "A", "b": "B"}, [Way("again", "a", "a")], initial="a"))
    assert not picture.to_the_right
    assert faults(picture) == []


def test_a_chain_s_lines_are_straight_from_box_to_box() -> None:
    assert all(len(edge.corners) == 2 for edge in drawn(REVIEW).edges)


def test_the_orders_picture_has_no_small_kinks() -> None:
    for edge in drawn(ORDERS).edges:
        for (x, y), (to_x, to_y) in pairwise(edge.corners):
            hidden = edge.back.y <= y <= edge.back.y + edge.back.height
            assert hidden or y != to_y or abs(x - to_x) > 6, (edge.source, edge.target)


def test_a_box_grows_with_the_lines_that_end_on_it() -> None:
    states = {"a": "A", **{f"s{number}": "S" for number in range(9)}}
    ways = [Way(f"t{number}", "a", f"s{number}") for number in range(9)]
    picture = drawn(define(states, ways, initial="a"))
    assert box(picture, "a").width >= 8 * 12 + 16
    ends = sorted(edge.corners[0][0] for edge in picture.edges)
    assert min(right - left for left, right in pairwise(ends)) >= 11.5


def test_the_near_graph_holds_the_path_the_current_state_and_what_it_can_reach() -> None:
    steps = [(1, "$create", "", "draft"), (2, "checkout", "draft", "creating_checkout")]
    graph = near(graph_of(ORDERS), "creating_checkout", [Step(*step) for step in steps])
    assert {node.name for node in graph.nodes} == {
        "draft",
        "creating_checkout",
        "awaiting_payment",
        "payment_failed",
        "paid",
    }
    assert {(edge.source, edge.target) for edge in graph.edges} == {
        ("draft", "creating_checkout"),
        ("creating_checkout", "awaiting_payment"),
        ("creating_checkout", "payment_failed"),
        ("creating_checkout", "paid"),
    }


def test_the_near_orders_picture_fits_a_phone() -> None:
    assert layout(ORDERS, near_to="awaiting_payment").width <= 374


def test_a_layout_is_kept_for_the_next_picture() -> None:
    assert layout(ORDERS) is layout(ORDERS)


def test_texts_in_another_language_make_another_layout() -> None:
    english = define({"a": "Paid", "b": "Shipped"}, [Way("ship", "a", "b")], initial="a")
    german = define({"a": "Bezahlt und gepackt", "b": "Versendet"}, [Way("ship", "a", "b")], initial="a")
    assert layout(english) != layout(german)


def test_a_lifecycle_of_one_state_and_one_of_states_nothing_leads_to_are_drawn() -> None:
    assert faults(drawn(define({"a": "A"}, [], initial="a"))) == []
    lonely = define({"a": "A", "b": "B", "c": "C"}, [Way("loop", "b", "b"), Way("any", ANY, "c")], initial="a")
    assert faults(drawn(lonely)) == []
