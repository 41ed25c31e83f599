"""Start: one start of one claimed run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lifecycle.execution import connecting
from lifecycle.execution.kinds import Options, Work
from lifecycle.store.claims import ClaimedRun


@dataclass(frozen=True, kw_only=True)
class Start:
    """The claim, and what this process knows about the run."""

    held: ClaimedRun
    work: Work
    using: str
    stopping: Callable[[], bool] = connecting.never

    @property
    def options(self) -> Options:
        """The bounds of its code."""
        return self.work.options
