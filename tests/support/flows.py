"""Flows of the support team: what most tests of flows use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lifecycle.definition.retries import Retry
from lifecycle.flows import (
    Channel,
    Decision,
    Flow,
    Step,
    StepContext,
    StepOptions,
    Timer,
    Wait,
    dead_end,
    force_complete,
    force_fail,
    go_to,
    go_to_many,
    graceful_complete,
    move,
    proceed_to,
)

# What the steps do, replaced by tests: by the step's name.
behaviours: dict[str, Any] = {}


@dataclass(frozen=True)
class Picked:
    """What the warehouse says when it has picked an order."""

    shelf: str
    pieces: int = 1


class Pack(Step[int]):
    """Waits for the warehouse, or for 48 hours."""

    def wait_for(self, ctx: StepContext, input: int) -> Wait:
        return Wait.any_of(Fulfilment.picked.for_one(), Timer(timedelta(hours=48), id="late"))

    def execute(self, ctx: StepContext, input: int) -> Decision:
        picked = ctx.result(Fulfilment.picked)
        if picked is None:
            return go_to(Remind, input)
        return go_to(HandOver, picked)


class Remind(Step[int]):
    """Reminds the warehouse, and waits again."""

    def execute(self, ctx: StepContext, input: int) -> Decision:
        behaviours.get("Remind", lambda ctx: None)(ctx)
        return go_to(Pack, input)


class HandOver(Step[Picked]):
    """Books the courier; what it cannot do is compensated."""

    options = StepOptions(retry=Retry(attempts=2, backoff=timedelta(0)), on_execute_failure=proceed_to("Compensate"))

    def execute(self, ctx: StepContext, input: Picked) -> Decision:
        number = behaviours.get("HandOver", lambda ctx: "T-1")(ctx)
        return graceful_complete(f"{number} from {input.shelf}")


class Compensate(Step[object]):
    """Undoes what was done, and says why."""

    def execute(self, ctx: StepContext, input: object) -> Decision:
        return force_fail(f"compensated: {ctx.recovery_error}")


class Fulfilment(Flow[int, str]):
    name = "fulfilment"
    picked = Channel[Picked]()
    start = Pack
    steps = [Remind, HandOver, Compensate]
    timeout = timedelta(days=14)


class Split(Step[int]):
    """Begins so many branches."""

    def execute(self, ctx: StepContext, input: int) -> Decision:
        return go_to_many(*(move(Branch, number) for number in range(input)))


class Branch(Step[int]):
    """One branch; what it answers is said by a test."""

    def execute(self, ctx: StepContext, input: int) -> Decision:
        answer: Decision = behaviours.get("Branch", lambda ctx, given: graceful_complete(given))(ctx, input)
        return answer


class Fan(Flow[int, int]):
    name = "fan"
    start = Split
    steps = [Branch]


class Collect(Step[int]):
    """Waits for as many words as it is told, with the bounds a test gives."""

    def wait_for(self, ctx: StepContext, input: int) -> Wait:
        found: Wait = behaviours.get("Collect.wait_for", lambda given: Wait.until(Words.words.for_n(given)))(input)
        return found

    def execute(self, ctx: StepContext, input: int) -> Decision:
        answer: Decision = behaviours.get("Collect", lambda ctx: force_complete(list(ctx.results(Words.words))))(ctx)
        return answer


class Speak(Step[str]):
    """Publishes its input and ends its branch."""

    def execute(self, ctx: StepContext, input: str) -> Decision:
        ctx.publish(Words.words, input)
        return dead_end()


class Words(Flow[int, list[str]]):
    name = "words"
    words = Channel[str]()
    other = Channel[int]()
    start = Collect
    steps = [Speak]
