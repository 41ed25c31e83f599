"""How wide a text is, and where it breaks."""

from __future__ import annotations

import pytest

from lifecycle.drawing.geometry.measure import lines, text_width

pytestmark = pytest.mark.once


def test_a_wide_letter_takes_more_room_than_a_narrow_one_and_semibold_more_than_regular() -> None:
    assert text_width("W", 12) > text_width("i", 12)
    assert text_width("Paid", 12, semibold=True) > text_width("Paid", 12)


def test_accents_take_no_room_of_their_own_and_east_asian_signs_a_whole_em() -> None:
    assert text_width("é", 10) == text_width("e", 10) == text_width("e\u0301", 10)
    assert text_width("支払", 10) == 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Creating checkout", ("Creating checkout",)),
        ("Refund needs attention", ("Refund needs", "attention")),
        ("  two \n words ", ("two words",)),
        ("", ("?",)),
        ("\x00\x07", ("?",)),
    ],
)
def test_names_break_at_spaces_when_they_are_wide(text: str, expected: tuple[str, ...]) -> None:
    assert lines(text, 13.5, broken_from=150, at_most=4, semibold=True) == expected


def test_where_a_long_word_makes_the_box_wide_the_other_lines_use_the_width() -> None:
    found = lines("Bezahlvorgang wird angelegt", 13.5, broken_from=104, at_most=4, semibold=True)
    assert found == ("Bezahlvorgang", "wird angelegt")


def test_a_word_too_long_for_any_line_is_cut_and_a_text_too_long_for_its_lines_ends_in_an_ellipsis() -> None:
    cut = lines("x" * 60, 12, broken_from=100, at_most=4)
    assert len(cut) > 1
    assert all(text_width(line, 12) <= 140 for line in cut)
    shortened = lines("word " * 50, 12, broken_from=100, at_most=3)
    assert len(shortened) == 3
    assert shortened[-1].endswith("…")
