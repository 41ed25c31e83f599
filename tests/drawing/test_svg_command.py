"""``lifecycle_graph --format svg``."""

from __future__ import annotations

from io import StringIO
from xml.etree import ElementTree as ET

import pytest
from django.core.management import CommandError, call_command

pytestmark = pytest.mark.once


def printed(*names: str) -> str:
    out = StringIO()
    call_command("lifecycle_graph", *names, format="svg", stdout=out)
    return out.getvalue()


def test_it_prints_one_lifecycle_as_a_file_that_needs_nothing_beside_it() -> None:
    text = printed("orders")
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "Awaiting payment" in text
    assert "<style>" in text


def test_two_pictures_do_not_fit_one_file() -> None:
    with pytest.raises(CommandError, match=r"name one lifecycle \(orders, stray_payments\)"):
        printed("orders", "stray_payments")
