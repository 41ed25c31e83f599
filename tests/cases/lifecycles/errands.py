"""Processes of the errands: their effect does what a test says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lifecycle import Lifecycle, Retry, Transition
from tests.cases.lifecycles.folders import behave
from tests.cases.models.errands import Errand

S = Errand.Status


class ErrandLifecycle(Lifecycle[Errand]):
    class Meta:
        model = Errand
        name = "errands"
        initial = S.NEW
        final = [S.DONE]

    go = Transition(S.NEW, S.GOING)
    finish = Transition(S.GOING, S.DONE, manual=False)
    again = Transition(S.GOING, S.GOING)
    alone = Transition(S.GOING, S.GOING)

    @go.effect(on_success=finish, retry=Retry(attempts=3, backoff=timedelta(seconds=1), jitter=0))
    def run(self, ctx: Any) -> Any:
        return behave("errand", ctx)

    @finish.hook
    def note_finishing(self, ctx: Any) -> None:
        behave("hook of finish", ctx)

    @again.effect(atomic=True, retry=Retry(attempts=2))
    def run_atomically(self, ctx: Any) -> Any:
        return behave("errand", ctx)

    @alone.effect
    def run_alone(self, ctx: Any) -> Any:
        return behave("errand", ctx)
