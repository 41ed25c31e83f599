"""Finding: one thing that is not as it should be, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

ERROR: Final = "error"
WARNING: Final = "warning"

Severity = Literal["error", "warning"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a fault's function yields.

    Attributes:
        id: the fault's name, as ``--only`` and ``--skip`` take it; stable.
        severity: "error": something is broken or stands still. "warning": somebody should know.
        sentence: what was found.
        remedy: what to do about it.
        using: the database.
        lifecycle: the lifecycle, where it is about one.
        count: how many rows (1 where it is not about rows).
        examples: some of the records, runs or names; never all of them.
    """

    id: str
    severity: Severity
    sentence: str
    remedy: str
    using: str
    lifecycle: str = ""
    count: int = 1
    examples: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The finding as JSON data."""
        return {**asdict(self), "examples": list(self.examples)}


def several(count: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{count} {one if count == 1 else many}"
