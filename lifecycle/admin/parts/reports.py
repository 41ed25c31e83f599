"""ReportRow: what became of one row of an action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# What is decided for one row after the other, in one request.
MOST_ROWS = 1000


@dataclass(frozen=True, kw_only=True)
class ReportRow:
    """One line of a report: the row, whether it was done, and what happened or all the reasons why not."""

    name: Any
    url: str = ""
    done: bool
    said: Any = ""
    why: Any = ""
