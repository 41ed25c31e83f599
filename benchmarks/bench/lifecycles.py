"""Jobs go to and fro between two states."""

from __future__ import annotations

from typing import Any

from benchmarks.bench.models import Job, Status
from lifecycle import Lifecycle, Transition


class JobLifecycle(Lifecycle[Job]):
    class Meta:
        model = Job
        name = "jobs"
        initial = Status.IDLE

    start = Transition(Status.IDLE, Status.BUSY)
    stop = Transition(Status.BUSY, Status.IDLE)
    again = Transition(Status.IDLE, Status.IDLE)

    @again.effect
    def nothing(self, ctx: Any) -> None: ...
