"""Starts: a flow that begins when a record enters a state, in the transition's own transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle.actors import SYSTEM
from lifecycle.definition.contexts import TransitionContext
from lifecycle.definition.wirings import on_enter as entering
from lifecycle.flows.verbs import start_flow

Ask = Callable[[TransitionContext[Any]], Any]


def starts(flow: Any, *, on_enter: Any, input: Ask | None = None, when: Ask | None = None) -> Any:
    """For a lifecycle's class: ``fulfil = starts(Fulfilment, on_enter=S.PAID, input=lambda ctx: ctx.record.pk)``.

    The flow belongs to the record; its id is the entry's, so each entering starts one flow, once.

    Args:
        flow: the class.
        on_enter: the state or states.
        input: what the first step is given, asked of the transition's context.
        when: whether to start it at all.
    """
    states = on_enter if isinstance(on_enter, (list, tuple)) else [on_enter]

    def start(self: Any, ctx: TransitionContext[Any]) -> None:
        if when is not None and not when(ctx):
            return
        start_flow(
            flow,
            input(ctx) if input is not None else None,
            actor=SYSTEM,
            flow_id=f"entry-{ctx.entry.pk}",  # a record's key may hold what no id of a flow may
            record=ctx.record,
            lifecycle=ctx.entry.lifecycle,
            request_id=None,
            entry=ctx.entry,
            using=ctx.using,
        )

    start.__name__ = f"start_{flow.definition.name}".replace("-", "_").replace(".", "_").replace(":", "_")
    return entering(*states)(start)
