"""Check ids: stable, documented, and every one of them proved by a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lifecycle.checks.ids import MEANINGS
from tests.definition.test_rules import CASES

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parent.parent.parent


def reported() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "lifecycle").rglob("*.py"):
        if path.name != "ids.py":
            found |= set(re.findall(r"lifecycle\.[EW]\d{3}", path.read_text()))
    return found


def test_every_id_that_is_reported_has_a_meaning_and_every_meaning_an_id() -> None:
    assert reported() == set(MEANINGS)


def test_every_id_of_a_declaration_has_a_definition_that_gets_it() -> None:
    proved = {code for _, told in CASES.values() for code, _, _ in told}
    assert proved == {code for code in MEANINGS if code < "lifecycle.E100"}


def test_every_id_of_a_check_is_asserted_in_a_test() -> None:
    texts = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [code for code in MEANINGS if code >= "lifecycle.E100" and f'"{code}"' not in texts] == []
