"""Problem: one thing wrong with a declaration, its sentence and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lifecycle.exceptions import InvalidDefinition


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong.

    Args:
        id: the stable id that ``manage.py check`` reports it under (``lifecycle.E015``).
        message: one sentence that says what is wrong.
        hint: one sentence that says what to do.
        where: the attribute it is about (``OrderLifecycle.ship``).
    """

    id: str
    message: str
    hint: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


def refusal(where: str, problems: Sequence[Problem], what: str = "lifecycle") -> InvalidDefinition:
    """The error that tells all problems of one declaration at once; ``what`` is being declared."""
    count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [f"{where} is not a valid {what}: {count}."]
    for problem in problems:
        lines.append(f"  [{problem.id}] {problem.where}: {problem.message}")
        if problem.hint:
            lines.append(f"    → {problem.hint}")
    return InvalidDefinition("\n".join(lines), problems=problems)
