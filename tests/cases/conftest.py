"""Prints, after the cases ran, each row under the names of its behaviours."""

from __future__ import annotations

import re
from typing import Any

import pytest

_ROWS = pytest.StashKey[dict[str, list[str]]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rows = config.stash.setdefault(_ROWS, {})
    for item in items:
        for marker in item.iter_markers("row"):
            for row in marker.args:
                rows.setdefault(row, []).append(item.nodeid)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    outcomes = {
        report.nodeid: outcome
        for outcome in ("passed", "skipped", "failed", "error")
        for report in terminalreporter.stats.get(outcome, ())
        if hasattr(report, "nodeid")
    }
    rows = config.stash.get(_ROWS, {})
    if rows:
        terminalreporter.section("rows that use has found")
    for row in sorted(rows, key=_order):
        for nodeid in rows[row]:
            behaviour = nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
            terminalreporter.line(f"{row:4} {outcomes.get(nodeid, 'not run'):8} {behaviour}")


def _order(row: str) -> tuple[str, int]:
    section, number = re.fullmatch(r"([A-Z])(\d+)", row).groups()  # type: ignore[union-attr]
    return section, int(number)
