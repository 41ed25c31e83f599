"""Processes of a project of one's own, as a strict type checker wants them written."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

from ticketing.models import Contract, Ticket

from lifecycle import EffectContext, Lifecycle, Retry, Timeout, Transition, TransitionContext, effect

S = Ticket.Status


class TicketLifecycle(Lifecycle[Ticket]):
    class Meta:
        model = Ticket
        name = "tickets"
        initial = S.NEW
        final = [S.CLOSED]

    assign = Transition(S.NEW, S.OPEN, label="Assign")
    close = Transition(S.OPEN, S.CLOSED, label="Close")

    close_old = Timeout(close, when=S.OPEN, after=timedelta(days=30))

    @close.guard(code="no_title", message="Give it a title first.")
    def has_title(self, ctx: TransitionContext[Ticket]) -> bool:
        assert_type(ctx.record, Ticket)
        return bool(ctx.record.title)

    @close.set
    def shout(self, ctx: TransitionContext[Ticket]) -> dict[str, object]:
        return {"title": ctx.record.title.upper()}

    @effect(on_enter=S.OPEN, retry=Retry(attempts=3), timeout=timedelta(seconds=10))
    def tell(self, ctx: EffectContext[Ticket]) -> dict[str, str]:
        assert_type(ctx.record, Ticket)
        assert_type(ctx.attempt, int)
        return {"told": ctx.record.title}


class ContractLifecycle(Lifecycle[Contract]):
    class Meta:
        model = Contract
        name = "contracts"
        accessor = "process"
        state_field, changed_at_field, version_field = "state", "state_since", "revision"
        initial = Contract.State.DRAFT
        final = [Contract.State.SIGNED]

    sign = Transition(Contract.State.DRAFT, Contract.State.SIGNED, label="Sign")
