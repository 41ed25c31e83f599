"""Every row has a test that keeps it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.cases.rows import SECTIONS

pytestmark = pytest.mark.once

HERE = Path(__file__).parent
ROWS = [row for rows in SECTIONS.values() for row in rows]


def marked(path: Path) -> set[str]:
    """The rows that tests of the file are marked with: on a test, on a parameter, or on the whole file."""
    return {
        argument.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.row"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }


def test_every_row_has_a_test_and_every_mark_is_a_row() -> None:
    found = set().union(*(marked(path) for path in sorted(HERE.glob("test_*.py"))))
    missing = {name: left for name, rows in SECTIONS.items() if (left := [row for row in rows if row not in found])}
    assert missing == {}, f"rows without a test, by the file that they belong to: {missing}"
    assert found <= set(ROWS), f"marks that name no row: {sorted(found - set(ROWS))}"
