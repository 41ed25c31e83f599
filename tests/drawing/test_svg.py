"""The picture as SVG: safe to put into a page, the same for the same lifecycle, changed by a record in classes only."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.utils import translation
from django.utils.translation import gettext_lazy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifecycle.definition.compiled import Definition
from lifecycle.drawing import Count, legend, outline, svg
from orders.lifecycles import OrderLifecycle
from tests.drawing.definitions import REVIEW, SUBSCRIPTION, Way, define, definitions, paths
from tests.drawing.elements import SVG, classes, label, line, parsed, state, step_of

ORDERS = OrderLifecycle.definition
PATH = [
    (1, "$create", "", "draft"),
    (2, "checkout", "draft", "creating_checkout"),
    (3, "checkout_created", "creating_checkout", "awaiting_payment"),
    (4, "payment_declined", "awaiting_payment", "payment_failed"),
    (5, "checkout", "payment_failed", "creating_checkout"),
    (6, "checkout_created", "creating_checkout", "awaiting_payment"),
]
pytestmark = pytest.mark.once
slowly = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def skeleton(picture: ET.Element) -> Counter[tuple[Any, ...]]:
    """Every element with all it has but its classes, without the numbers of steps and the description."""
    found: Counter[tuple[Any, ...]] = Counter()

    def walk(element: ET.Element, inside: tuple[str, ...]) -> None:
        if "lc-step" in classes(element) or element.tag == f"{SVG}desc":
            return
        kept = tuple(sorted((key, value) for key, value in element.attrib.items() if key != "class"))
        found[(*inside, element.tag, kept, (element.text or "").strip())] += 1
        for child in element:
            walk(child, (*inside, element.tag))

    walk(picture, ())
    return found


@slowly
@given(st.data(), definitions())
def test_any_record_s_picture_is_valid_xml_and_differs_from_the_bare_one_in_classes_and_steps_only(
    data: st.DataObject, definition: Definition
) -> None:
    path = data.draw(paths(definition))
    bare = parsed(svg(definition))
    drawn = parsed(
        svg(definition, current=path[-1][3], path=path, open_transitions=set(definition.transitions), ident="x/y z")
    )
    for picture in (bare, drawn):
        for element in picture.iter():
            element.attrib.pop("id", None)
            element.attrib.pop("aria-labelledby", None)
    assert skeleton(drawn) == skeleton(bare)


@slowly
@given(definitions(), st.integers(0, 2000), st.booleans())
def test_the_number_of_every_step_stands_inside_the_picture(definition: Definition, before: int, near: bool) -> None:
    edges = [
        (one.name, source, to)
        for one in definition.transitions.values()
        for source in one.sources
        for to in one.targets
    ]
    path = [(before + place, *edge) for place, edge in enumerate(edges + edges, start=1)]
    picture = parsed(svg(definition, path=path, near=near, current=definition.initial[0]))
    numbers = [step.find(f"{SVG}rect") for step in picture.iter(f"{SVG}g") if "lc-step" in classes(step)]
    assert bool(numbers) == bool(path)
    for rect in numbers:
        assert rect is not None
        assert float(rect.get("x", -1)) >= 0
        assert float(rect.get("x", 0)) + float(rect.get("width", 0)) <= float(picture.get("width", 0))


@slowly
@given(definitions())
def test_the_same_definition_gives_the_same_text(definition: Definition) -> None:
    assert svg(definition) == svg(definition)
    counts = {name: Count(number, "2 d", late=number % 2 == 0) for number, name in enumerate(definition.states)}
    parsed(svg(definition, counts=counts))


def test_the_current_state_the_visited_ones_and_what_is_possible_from_here_are_marked() -> None:
    picture = parsed(svg(ORDERS, current="awaiting_payment", path=PATH, open_transitions={"cancel", "checkout"}))
    assert "is-current" in classes(state(picture, "awaiting_payment"))
    assert "is-visited" in classes(state(picture, "payment_failed"))
    assert classes(state(picture, "paid")) == {"lc-node", "tone-success"}
    assert "is-final" in classes(state(picture, "refunded"))
    assert "is-next" in classes(line(picture, "awaiting_payment", "paid"))
    assert "is-next" not in classes(line(picture, "draft", "cancelled"))
    assert "is-open" in classes(label(picture, "cancel", "awaiting_payment"))
    assert "is-open" not in classes(label(picture, "cancel", "draft"))
    assert "is-open" not in classes(label(picture, "checkout", "payment_failed"))


def test_the_path_is_thick_and_numbered_by_version() -> None:
    picture = parsed(svg(ORDERS, current="awaiting_payment", path=PATH))
    assert "is-path" in classes(line(picture, "draft", "creating_checkout"))
    assert step_of(label(picture, "checkout", "draft")) == "2"
    assert step_of(label(picture, "checkout_created", "creating_checkout")) == "3·6"
    assert step_of(label(picture, "checkout", "payment_failed")) == "5"
    assert step_of(label(picture, "expire", "awaiting_payment")) is None
    start = next(group for group in picture.iter(f"{SVG}g") if "is-start" in classes(group))
    assert step_of(start) == "1"


@pytest.mark.parametrize(
    ("versions", "text"),
    [([3, 6, 9], "3…9"), ([12], "12"), ([998, 1004], "1004"), ([10, 11], "11"), ([123456], "…56")],
)
def test_many_steps_on_one_line_are_told_short_and_never_grow_over_the_neighbour(
    versions: list[int], text: str
) -> None:
    path = [(version, "checkout_created", "creating_checkout", "awaiting_payment") for version in versions]
    group = label(parsed(svg(ORDERS, path=path)), "checkout_created", "creating_checkout")
    assert step_of(group) == text
    rect = next(one for one in group if "lc-step" in classes(one)).find(f"{SVG}rect")
    pill = group.find(f"{SVG}rect")
    assert rect is not None
    assert pill is not None
    assert float(pill.get("x", "")) - float(rect.get("x", "")) <= 18.5
    title = next(one for one in group if "lc-step" in classes(one)).find(f"{SVG}title")
    assert title is not None
    assert title.text == ", ".join(map(str, versions))


def test_the_path_lies_over_the_lines_out_of_the_current_state_and_those_over_the_rest() -> None:
    picture = parsed(svg(ORDERS, current="awaiting_payment", path=PATH))
    lines = [classes(group) for group in picture if "lc-edge" in classes(group) and "is-start" not in classes(group)]
    rank = [2 if "is-path" in one else 1 if "is-next" in one else 0 for one in lines]
    assert rank == sorted(rank)
    assert set(rank) == {0, 1, 2}


def test_labels_tell_people_from_the_system_and_time_from_both() -> None:
    picture = parsed(svg(ORDERS))
    assert "is-manual" in classes(label(picture, "cancel", "draft"))
    assert "is-system" in classes(label(picture, "refunded", "refunding"))
    expire = label(picture, "expire", "payment_failed")
    assert {"is-timer", "is-system"} <= classes(expire)
    assert any("lc-clock" in classes(one) for one in expire)
    assert "is-timer" not in classes(line(picture, "payment_failed", "cancelled"))
    assert "is-timer" in classes(line(parsed(svg(REVIEW)), "approved", "published"))


def test_entries_of_transitions_the_definition_no_longer_has_mark_their_states_alone() -> None:
    path = [(0, "$adopt", "", "paid"), (1, "long_gone", "paid", "vanished"), (2, "ship", "paid", "fulfilled")]
    picture = parsed(svg(ORDERS, current="fulfilled", path=path))
    assert "is-visited" in classes(state(picture, "paid"))
    assert "is-path" in classes(line(picture, "paid", "fulfilled"))
    text = "".join(picture.find(f"{SVG}desc").itertext())  # type: ignore[union-attr]
    assert "1 long_gone to vanished" in text


def test_a_step_out_of_any_state_is_drawn_on_the_pill_s_line() -> None:
    path = [(1, "$create", "", "trial"), (2, "end_now", "trial", "ended")]
    picture = parsed(svg(SUBSCRIPTION, current="ended", path=path))
    assert step_of(label(picture, "end_now", "$any0")) == "2"
    assert "is-path" in classes(line(picture, "$any0", "ended"))


def test_the_pill_names_the_states_it_stands_for() -> None:
    picture = parsed(svg(SUBSCRIPTION))
    pills = [group for group in picture.iter(f"{SVG}g") if "is-any" in classes(group)]
    assert len(pills) == 1
    assert pills[0].findtext(f"{SVG}title") == "Trial, Active, Past due, Paused"


def test_every_text_is_escaped_and_nothing_in_it_runs() -> None:
    evil = "<script>alert('x')</script>&\"\x00"
    definition = define({"a": evil, "b": evil}, [Way("go", "a", "b", label=evil)], initial="a", name='"><b>')
    text = svg(definition, current="a", path=[(1, evil, evil, evil)], ident='"><x')
    assert "<script" not in text
    assert "<b>" not in text
    assert "\x00" not in text
    parsed(text)
    listed = outline(definition, current="a", path=[(2, "go", "a", "b")], open_transitions={"go"})
    assert "<script" not in listed
    parsed(listed)


def test_a_page_s_content_policy_finds_no_style_no_script_no_handler_and_no_request() -> None:
    text = svg(ORDERS, current="draft", counts={"draft": 1}) + legend() + outline(ORDERS)
    assert not re.search(r"<style|<script|<foreignObject|\sstyle=|\son\w+=|href|url\(", text)


def test_it_tells_a_screen_reader_what_it_shows_under_ids_of_its_own() -> None:
    picture = parsed(svg(ORDERS, current="awaiting_payment", path=PATH, ident="o1042"))
    title, about = picture.find(f"{SVG}title"), picture.find(f"{SVG}desc")
    assert picture.get("role") == "img"
    assert title is not None
    assert about is not None
    assert picture.get("aria-labelledby") == f"{title.get('id')} {about.get('id')}" == "o1042-title o1042-desc"
    assert title.text == "Order: states and transitions"
    assert about.text == (
        "10 states, 13 transitions. Now in Awaiting payment. Path: 1 Created to Draft, 2 Pay to Creating checkout,"
        " 3 Checkout created to Awaiting payment, 4 Payment declined to Payment failed, 5 Pay to Creating checkout,"
        " 6 Checkout created to Awaiting payment."
    )


def test_the_outline_says_in_lists_what_the_picture_shows() -> None:
    text = outline(ORDERS, current="awaiting_payment", path=PATH, open_transitions={"cancel"})
    lists = parsed(text)
    here = next(one for one in lists if one.get("aria-current"))
    assert here.text == "Awaiting payment (now)"
    ways = ["".join(way.itertext()) for way in here.iter("li") if way is not here]
    assert "Cancel order to Cancelled (open now)" in ways
    assert "Expire to Cancelled (by time)" in ways
    assert "Payment declined to Payment failed (only the system): 4" in ways
    assert any("Any" not in "".join(one.itertext()) for one in lists)
    subscription = parsed(outline(SUBSCRIPTION))
    assert "End now to Ended" in "".join(subscription[0].itertext())
    assert "Ended (final)" in "".join(subscription[-1].itertext())


def test_counts_stand_in_the_boxes_and_what_is_late_has_a_triangle() -> None:
    counts = {"draft": 9, "refunding": Count(2, "4 d", late=True)}
    picture = parsed(svg(ORDERS, counts=counts))
    late, draft, empty = (state(picture, name) for name in ("refunding", "draft", "paid"))
    assert {"is-late"} <= classes(late)
    assert [text.text for text in late.iter(f"{SVG}text")] == ["Refunding", "2", "oldest 4 d"]
    assert any("lc-late" in classes(one) for one in late)
    assert [text.text for text in draft.iter(f"{SVG}text")] == ["Draft", "9"]
    assert "is-empty" in classes(empty)
    about = picture.find(f"{SVG}desc")
    assert about is not None
    assert "Draft 9" in (about.text or "")
    assert "Refunding 2, oldest 4 d" in (about.text or "")


def test_changing_counts_keep_the_picture_s_places() -> None:
    def places(counts: dict[str, int | Count]) -> list[tuple[str | None, ...]]:
        picture = parsed(svg(ORDERS, counts=counts))
        boxes = [one for one in picture.iter(f"{SVG}rect") if "lc-box" in classes(one)]
        return [tuple(box.get(key) for key in ("x", "y", "width")) for box in boxes]

    assert places({}) == places({"draft": 9, "paid": Count(17, "2 d 2 h", late=True)})


def test_the_near_picture_shows_less_and_the_same_marks() -> None:
    picture = parsed(svg(ORDERS, current="awaiting_payment", path=PATH, open_transitions={"cancel"}, near=True))
    states = {group.get("data-state") for group in picture.iter(f"{SVG}g")} - {None}
    assert states == {"draft", "creating_checkout", "awaiting_payment", "payment_failed", "paid", "cancelled"}
    assert step_of(label(picture, "checkout_created", "creating_checkout")) == "3·6"
    assert float(picture.get("width", "")) <= 374
    texts = [text.text for text in state(picture, "awaiting_payment").iter(f"{SVG}text")]
    assert texts == ["Awaiting", "payment"]


def test_labels_are_drawn_in_the_active_language() -> None:
    definition = define({"a": gettext_lazy("Yes"), "b": "B"}, [Way("go", "a", "b")], initial="a")
    with translation.override("de"):
        assert ">Ja<" in svg(definition)
    with translation.override("en"):
        assert ">Yes<" in svg(definition)


def test_a_picture_for_a_file_carries_its_look() -> None:
    text = svg(REVIEW, standalone=True)
    parsed(text)
    assert ".lc-diagram" in text
