"""ReportRow: what became of one row of an action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lifecycle.admin import parts
from lifecycle.exceptions import LifecycleError


@dataclass(frozen=True, kw_only=True)
class ReportRow:
    """One line of a report: the row, whether it was done, and what happened or all the reasons why not."""

    name: Any
    url: str = ""
    done: bool
    said: Any = ""
    why: Any = ""


def refusal_of(error: Exception) -> Any:
    """Every reason an error gives, as HTML."""
    refusals = getattr(error, "refusals", ())
    if refusals:
        return parts.reasons(refusals)
    problems = getattr(error, "problems", ())
    if problems:
        return parts.reason_list((str(problem), "") for problem in problems)
    sentence = str(error) if isinstance(error, LifecycleError) else f"{type(error).__name__}: {error}"
    return parts.reason_list([(sentence, "")])
