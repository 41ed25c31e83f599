"""Processes of the cases in `test_edits.py`."""

from __future__ import annotations

from typing import Any

from lifecycle import Lifecycle, Transition
from tests.cases.models.edits import Computed, Counted, Joined, Status

# What the hook saw of its record.
seen: list[tuple[Any, ...]] = []


class ComputedLifecycle(Lifecycle[Computed]):
    class Meta:
        model = Computed
        name = "computed"
        initial = Status.NEW

    finish = Transition(Status.NEW, Status.DONE, accept=["title"])
    again = Transition(Status.DONE, Status.NEW)

    @finish.hook
    def look(self, ctx: Any) -> None:
        seen.append((ctx.record.loud, ctx.record.shown))


class JoinedLifecycle(Lifecycle[Joined]):
    class Meta:
        model = Joined
        name = "joined"
        initial = Status.NEW
        final = [Status.DONE]

    finish = Transition(Status.NEW, Status.DONE)


class CountedLifecycle(Lifecycle[Counted]):
    class Meta:
        model = Counted
        name = "counted"
        initial = Status.NEW
        final = [Status.DONE]

    finish = Transition(Status.NEW, Status.DONE)
