"""``lifecycle_graph --format svg``."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.core.management import CommandError, call_command

pytestmark = pytest.mark.once


def printed(*names: str, format: str = "svg", **options: Any) -> str:
    out = StringIO()
    call_command("lifecycle_graph", *names, format=format, stdout=out, **options)
    return out.getvalue()


def test_it_prints_one_lifecycle_as_a_file_that_needs_nothing_beside_it() -> None:
    text = printed("orders")
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "Awaiting payment" in text
    assert "<style>" in text


def test_two_pictures_do_not_fit_one_file() -> None:
    with pytest.raises(CommandError, match=r"name one lifecycle \(orders, stray_payments\)"):
        printed("orders", "stray_payments")


def test_it_prints_the_part_around_a_state() -> None:
    text = printed("claims", near=["triage"])
    assert re.findall(r'data-state="(\w+)"', text) == [
        "contacted",
        "documents_in",
        "triage",
        "fast_track",
        "expert_wanted",
        "fraud_suspected",
        "withdrawn",
    ]


def test_it_says_of_a_large_lifecycle_that_there_is_a_smaller_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(re.findall("data-state=", printed("claims"))) == 40
    assert capsys.readouterr().err == "claims has 40 states: --near STATE draws the part around one.\n"
    printed("orders")
    printed("claims", near=["triage"])
    assert capsys.readouterr().err == ""


def test_it_answers_an_unknown_state_with_the_nearest_right_one_and_a_part_of_a_text_with_the_format() -> None:
    with pytest.raises(CommandError, match=r"'claims' has no state 'triaged'. Did you mean 'triage'\?"):
        printed("claims", near=["triaged"])
    with pytest.raises(CommandError, match="add --format svg"):
        printed("claims", near=["triage"], format="dot")
