"""Processes of the property test `tests/properties/test_people.py`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from lifecycle import Lifecycle, Timeout, Transition, on_enter
from tests.cases.models.folders import Folder

S = Folder.Status

# What the code of a project does here, by the place it stands in; the test replaces it.
behaviours: dict[str, Callable[[Any], Any]] = {}


def behave(place: str, ctx: Any) -> Any:
    return behaviours[place](ctx) if place in behaviours else None


class FolderLifecycle(Lifecycle[Folder]):
    class Meta:
        model = Folder
        name = "folders"
        initial = S.SHELF

    take = Transition(S.SHELF, S.TABLE, accept=["title", "labels", "weight", "seen_at"])
    file = Transition(S.TABLE, S.FILED, manual=False)
    put_back = Transition([S.TABLE, S.FILED], S.SHELF)
    clear = Transition([S.SHELF, S.TABLE], S.FILED)  # without hooks: a batch decides and writes its rows together

    return_forgotten = Transition(S.TABLE, S.SHELF, manual=False)
    forgotten = Timeout(return_forgotten, when=S.TABLE, after=timedelta(hours=1))

    @on_enter(S.SHELF)
    def note_creating(self, ctx: Any) -> None:
        if ctx.source is None:
            behave("hook of a creation", ctx)

    @return_forgotten.hook
    def note_returning(self, ctx: Any) -> None:
        behave("hook of a timeout", ctx)

    @return_forgotten.guard
    @put_back.guard
    @clear.guard
    def may_be_put_back(self, ctx: Any) -> bool:
        behave("guard", ctx)
        return True

    @take.hook
    def note_taking(self, ctx: Any) -> None:
        behave("hook", ctx)

    @put_back.hook
    def note_putting_back(self, ctx: Any) -> None:
        behave("hook of a return", ctx)

    @take.effect(on_success=file)
    def scan(self, ctx: Any) -> None:
        behave("effect", ctx)

    @file.hook
    def note_filing(self, ctx: Any) -> None:
        behave("hook of a follow-up", ctx)
