"""User code as a type checker sees it: every line marked "refused" must be an error, no other may."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

from lifecycle import (
    ANY,
    ANY_EXCEPT,
    CREATE,
    Deadline,
    Effect,
    Lifecycle,
    Refuse,
    Reminder,
    Retry,
    State,
    Timeout,
    Transition,
    effect,
    guard,
    on_enter,
    on_leave,
)
from lifecycle.definition.compiled import Definition
from lifecycle.definition.contexts import TransitionContext


class Order:
    address: str = ""


class Orders(Lifecycle[Order]):
    class Meta:
        name = "typed"
        states = {"draft": State("Draft", meta={"tone": "calm"}), "paid": State("Paid"), "gone": "Gone"}
        initial = "draft"
        final = ["gone"]

    @dataclass(frozen=True)
    class Parameters:
        window: timedelta = timedelta(minutes=3)

    pay = Transition("draft", "paid", label="Pay", accept=["session"], manual=False)
    remove = Transition(ANY, "gone", permission="orders.remove_order")
    reset = Transition(ANY_EXCEPT("draft"), "draft", labl="Reset")  # refused

    @pay.guard
    def has_address(self, ctx: TransitionContext[Order]) -> bool | Refuse:
        return bool(ctx.record.address) or Refuse("no_address", "Add an address first.")

    @pay.guard(code="late", message="Too late.", kind="precondition")
    def is_early(self, ctx: TransitionContext[Order]) -> bool:
        return ctx.now.hour < 20

    @guard(on=CREATE)
    def has_customer(self, ctx: TransitionContext[Order]) -> bool:
        return True

    @pay.set
    def note(self, ctx: TransitionContext[Order]) -> dict[str, Any]:
        return {"note": ctx.actor.id}

    @on_enter("paid")
    @on_leave("draft")
    def count(self, ctx: TransitionContext[Order]) -> None: ...

    @pay.effect
    def tell(self, ctx: Any) -> None: ...

    @effect(on_enter="paid", on_success=remove, retry=Retry(attempts=3), timeout=timedelta(seconds=5))
    def ship(self, ctx: Any) -> dict[str, str]:
        return {"by": self.services.carrier}

    @effect(on=pay, retries=3)  # refused
    def lose(self, ctx: Any) -> None: ...

    expire = Timeout(remove, when="draft", after=lambda parameters: parameters.window)
    expire_early = Timeout(remove, when="draft", after=180)  # refused
    on_day = Deadline(remove, when=["draft"], at="due_on")
    remind = Reminder(tell, when="paid", after=timedelta(1), repeat=timedelta(1))


assert_type(Orders.definition, Definition)
assert_type(Orders.pay, Transition)
assert_type(Orders.ship, Effect)
assert_type(Orders.pay.name, str)
assert_type(Orders().has_customer, Any)  # refused
