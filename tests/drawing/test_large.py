"""Lifecycles of more than thirty states: what is near first, the whole in parts that fit a page."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings

from lifecycle.definition.compiled import Definition
from lifecycle.drawing import layout, svg
from lifecycle.drawing.geometry.layouts import laid_out
from lifecycle.drawing.geometry.parts import parts_of
from lifecycle.drawing.graph import Step, around, graph_of, near
from tests.drawing.corners import lines
from tests.drawing.definitions import ANY, Way, define, definitions, long
from tests.drawing.faults import faults

FORTY = long(40)
SVG = "{http://www.w3.org/2000/svg}"
pytestmark = pytest.mark.once
slowly = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def test_forty_states_fit_a_page_instead_of_a_strip() -> None:
    picture = layout(FORTY)
    assert 1 / 2 < picture.width / picture.height < 2
    assert picture.height < 1500
    assert faults(picture) == []


@slowly
@given(definitions(least_states=31, most_states=45, most_ways=60))
def test_no_drawing_of_a_large_lifecycle_has_a_fault(definition: Definition) -> None:
    assert faults(layout(definition)) == []


def test_thirty_states_are_one_picture_and_thirty_one_stand_in_parts() -> None:
    assert not any(edge.reference for edge in layout(long(30)).edges)
    assert any(edge.reference for edge in layout(long(31)).edges)


def test_every_state_and_every_line_is_drawn_once() -> None:
    text = svg(FORTY)
    picture = ET.fromstring(text)
    states = [group.get("data-state") for group in picture.iter(f"{SVG}g") if group.get("data-state")]
    assert sorted(states) == sorted(FORTY.states)
    ways = {(edge.source, edge.target) for edge in graph_of(FORTY).edges}
    drawn = [
        (group.get("data-source"), group.get("data-target"))
        for group in picture.iter(f"{SVG}g")
        if "lc-edge" in group.get("class", "") and group.get("data-source")
    ]
    assert len(drawn) == len(ways) == len(lines(text)) - 1
    assert set(drawn) == ways


def test_a_line_into_another_part_ends_on_a_box_that_says_which_state_it_means() -> None:
    picture = ET.fromstring(svg(FORTY))
    (box,) = [
        group
        for group in picture.iter(f"{SVG}g")
        if group.get("data-elsewhere") == FORTY.transitions["u6"].target == "s26"
    ]
    assert box.findtext(f"{SVG}text") == "S26"
    assert box.findtext(f"{SVG}title") == "S26 is drawn elsewhere in this picture"


def test_a_process_is_cut_where_the_fewest_lines_are() -> None:
    names = [f"s{number}" for number in range(36)]
    ways = [Way(f"t{number}", names[number], names[number + 1]) for number in range(35)]
    # Three groups of twelve, whose states all lead back to the first of their group.
    ways += [Way(f"u{number}", names[number], names[number // 12 * 12]) for number in range(36) if number % 12 > 1]
    parts = parts_of(graph_of(define({name: name for name in names}, ways, initial="s0")))
    assert [len([node for node in part.graph.nodes if node.is_state]) for part in parts] == [12, 12, 12]


def test_a_side_branch_stands_beside_what_it_left_wherever_it_is_declared() -> None:
    names = [f"s{number}" for number in range(36)]
    ways = [Way(f"t{number}", names[number], names[number + 1]) for number in range(35)]
    ways += [Way(f"u{number}", names[number], names[number // 12 * 12]) for number in range(36) if number % 12 > 1]
    ways.append(Way("give_up", "s3", "given_up"))
    definition = define({name: name for name in [*names, "given_up"]}, ways, initial="s0", final="given_up")
    first, *_ = parts_of(graph_of(definition))
    assert {"s0", "s3", "given_up"} <= {node.name for node in first.graph.nodes}


def test_a_transition_from_any_of_many_states_still_starts_in_one_pill() -> None:
    names = [f"s{number}" for number in range(40)]
    ways = [Way(f"t{number}", names[number], names[number + 1]) for number in range(39)]
    definition = define({name: name for name in names}, [*ways, Way("stop", ANY, "s39 s3")], initial="s0", final="s39")
    picture = ET.fromstring(svg(definition))
    assert len([group for group in picture.iter(f"{SVG}g") if "is-any" in group.get("class", "")]) == 1
    assert faults(layout(definition)) == []


def test_a_record_s_path_changes_no_place_in_a_large_picture() -> None:
    def places(text: str) -> list[str]:
        return re.findall(r'<rect class="lc-box"[^>]*>', text)

    path = [(1, "$create", "", "s0"), (2, "t0", "s0", "s1"), (3, "u23", "s1", "s13")]
    text = svg(FORTY, current="s13", path=path)
    assert places(text) == places(svg(FORTY))
    assert 'class="lc-edge is-path"' in text


def test_the_same_large_lifecycle_is_laid_out_the_same() -> None:
    graph = graph_of(FORTY)
    assert laid_out.__wrapped__(graph) == laid_out.__wrapped__(replace(graph))


# What is near -------------------------------------------------------------------------------------


def test_what_is_around_a_state_is_what_leads_to_it_and_out_of_it() -> None:
    graph = around(graph_of(FORTY), ["s13"])
    assert {(edge.source, edge.target) for edge in graph.edges} == {
        ("s12", "s13"),
        ("s1", "s13"),
        ("s13", "s14"),
        ("s13", "s9"),
    }
    assert {node.name for node in graph.nodes} == {"s1", "s9", "s12", "s13", "s14"}


def test_around_no_state_is_around_the_beginning() -> None:
    assert {node.name for node in around(graph_of(FORTY), []).nodes} == {"s0", "s1"}


def test_a_picture_around_states_marks_none_of_them_as_the_present_one() -> None:
    text = svg(FORTY, around=["s13"], counts={"s13": 7})
    assert "is-current" not in text
    assert ">7</text>" in text
    assert re.findall(r'data-state="(\w+)"', text) == ["s1", "s9", "s12", "s13", "s14"]


def test_of_a_path_through_too_many_states_the_near_picture_shows_the_end() -> None:
    steps = [Step(number + 1, f"t{number - 1}", f"s{number - 1}", f"s{number}") for number in range(1, 36)]
    short = near(graph_of(FORTY), "s20", steps[:20])
    assert {"s0", "s10", "s20"} <= {node.name for node in short.nodes}
    long_way = near(graph_of(FORTY), "s35", steps)
    assert {"s27", "s35", "s36"} <= {node.name for node in long_way.nodes}
    assert "s26" not in {node.name for node in long_way.nodes}
