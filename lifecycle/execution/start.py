"""Start: one start of a claimed run, with everything that is asked about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lifecycle.definition.compiled import CompiledEffect, CompiledReminder, Definition
from lifecycle.execution import connecting
from lifecycle.store.claims import ClaimedRun


@dataclass(frozen=True, kw_only=True)
class Start:
    """One start of one run: the claim, and what this process knows about its effect."""

    held: ClaimedRun
    definition: Definition
    effect: CompiledEffect
    using: str
    stopping: Callable[[], bool] = connecting.never

    @property
    def reminder(self) -> CompiledReminder | None:
        """The reminder that enqueued this run, when it is to come again."""
        found = self.definition.reminders.get(self.held.reminder) if self.held.reminder else None
        return found if found is not None and found.repeat is not None else None
