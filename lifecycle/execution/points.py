"""Point: a named moment in a run's life at which the crash tests end the process."""

from __future__ import annotations

from collections.abc import Callable

NAMES = (
    "after_claim",
    "in_effect",
    "before_finish",
    "after_finish_before_commit",
    "after_commit",
)

# Set by tests only; called with the point's name.
hook: Callable[[str], None] | None = None


def reach(name: str) -> None:
    """Says that execution is here."""
    if hook is not None:
        hook(name)
