"""Report: what became of every row of an action; rows refused for the same reasons stand together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
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


@dataclass(frozen=True, kw_only=True)
class ReportGroup:
    """Rows with one outcome: a row that was done, or all that were refused for the same reasons."""

    done: bool
    said: Any
    why: Any
    rows: list[ReportRow] = field(default_factory=list)


def grouped(rows: Iterable[ReportRow]) -> list[ReportGroup]:
    """The rows in their order, equal refusals at the place of the first: fifty of them are read once."""
    groups: list[ReportGroup] = []
    refused: dict[str, ReportGroup] = {}
    for row in rows:
        group = refused.get(str(row.why)) if not row.done else None
        if group is None:
            group = ReportGroup(done=row.done, said=row.said, why=row.why)
            groups.append(group)
            if not row.done:
                refused[str(row.why)] = group
        group.rows.append(row)
    return groups
