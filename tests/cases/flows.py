"""Flows of the cases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lifecycle.definition.retries import Retry
from lifecycle.flows import Channel, Decision, Flow, Step, StepContext, StepOptions, Wait, graceful_complete

# What a test has it do right before it fires.
meanwhile: dict[str, Any] = {}


class Book(Step[str]):
    """Waits for the courier's name, and ships the record in its commit."""

    options = StepOptions(retry=Retry(attempts=3, backoff=timedelta(0)))

    def wait_for(self, ctx: StepContext, input: str) -> Wait:
        return Wait.until(Dispatch.courier.for_one())

    def execute(self, ctx: StepContext, input: str) -> Decision:
        carrier = ctx.result(Dispatch.courier)
        meanwhile.get("Book", lambda ctx: None)(ctx)
        ctx.fire("ship", input={"carrier": carrier})
        return graceful_complete({"carrier": carrier, "was": ctx.record.status})


class Dispatch(Flow[str, dict[str, str]]):
    name = "dispatch"
    courier = Channel[str]()
    start = Book
