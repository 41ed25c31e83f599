"""The processes of the support team."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms

from lifecycle import (
    ANY_EXCEPT,
    Deadline,
    Lifecycle,
    Refuse,
    Reminder,
    Retry,
    Timeout,
    Transition,
    effect,
    on_enter,
    on_leave,
)
from tests.support.models import Parcel, Ticket

S = Ticket.Status


class SolveForm(forms.Form):
    answer = forms.CharField(max_length=500)
    priority = forms.IntegerField(min_value=0, max_value=9, required=False)


class TicketLifecycle(Lifecycle[Ticket]):
    class Meta:
        model = Ticket
        name = "tickets"
        initial = [S.OPEN, S.ESCALATED]
        final = [S.CLOSED]

    @dataclass(frozen=True)
    class Parameters:
        patience: timedelta = timedelta(days=2)
        reminders: bool = True

    ask = Transition(S.OPEN, S.WAITING, label="Ask the customer", accept=["note"])
    reply = Transition(S.WAITING, S.OPEN, manual=False, accept=["note"])
    solve = Transition(
        [S.OPEN, S.WAITING, S.ESCALATED],
        S.SOLVED,
        label="Solve",
        permission="support.solve_ticket",
        form=SolveForm,
        accept=["answer"],
    )
    escalate = Transition(ANY_EXCEPT(S.ESCALATED), S.ESCALATED, permission="support.escalate_ticket", on_same="ok")
    touch = Transition(S.OPEN, S.OPEN, label="Touch", secrets=["token"])
    close = Transition(S.SOLVED, S.CLOSED, manual=False)
    reopen = Transition(S.SOLVED, S.OPEN)
    triage = Transition(S.OPEN, [S.WAITING, S.ESCALATED])

    close_solved = Timeout(close, when=S.SOLVED, after=lambda parameters: parameters.patience)
    escalate_overdue = Deadline(escalate, when=[S.OPEN, S.WAITING], at="due_on")

    @solve.guard(code="not_urgent", message="Urgent tickets are solved by phone.")
    def is_not_urgent(self, ctx: Any) -> Any:
        return ctx.record.priority < 9

    @escalate.guard
    def has_title(self, ctx: Any) -> Any:
        if not ctx.record.title:
            return Refuse("no_title", "Give the ticket a title first.", ticket=str(ctx.record.pk))
        return True

    @triage.route
    def by_priority(self, ctx: Any) -> str:
        return S.ESCALATED if ctx.record.priority > 5 else S.WAITING

    @ask.set
    def remember_question(self, ctx: Any) -> dict[str, Any]:
        return {"priority": ctx.record.priority + 1}

    @on_leave(S.OPEN)
    def note_leaving(self, ctx: Any) -> None:
        calls.append(("leave", ctx.transition))

    @ask.hook
    def note_asking(self, ctx: Any) -> None:
        calls.append(("hook", ctx.transition))

    @on_enter(S.WAITING)
    def note_entering(self, ctx: Any) -> None:
        calls.append(("enter", ctx.transition))

    @reopen.effect
    def tell_agent(self, ctx: Any) -> dict[str, Any]:
        return {"told": str(ctx.record.pk)}

    @effect()
    def nudge(self, ctx: Any) -> None:
        calls.append(("nudge", str(ctx.record.pk)))

    nudge_customer = Reminder(nudge, when=S.WAITING, after=timedelta(hours=4), repeat=timedelta(hours=8))


calls: list[tuple[str, Any]] = []

P = Parcel.Status


class ParcelLifecycle(Lifecycle[Parcel]):
    class Meta:
        model = Parcel
        name = "parcels"
        initial = P.PACKED
        final = [P.RETURNED]

    send = Transition([P.PACKED, P.STUCK], P.LABELLING)
    labelled = Transition(P.LABELLING, P.SENT, accept=["label"], manual=False)
    label_failed = Transition(P.LABELLING, P.STUCK, manual=False)
    label_lost = Transition(P.LABELLING, P.LOST, manual=False)
    scan = Transition(P.SENT, P.SENT)
    take_back = Transition([P.PACKED, P.LABELLING, P.SENT, P.STUCK, P.LOST], P.RETURNED)

    @label_failed.set
    def keep_problem(self, ctx: Any) -> dict[str, Any]:
        return {"problem": str(ctx.input.get("error", ""))[:200]}

    @effect(
        on_enter=P.LABELLING,
        on_success=labelled,
        on_failure=label_failed,
        on_dead=label_lost,
        retry=Retry(attempts=3, backoff=timedelta(seconds=2), maximum=timedelta(seconds=10), jitter=0),
        timeout=timedelta(seconds=10),
    )
    def print_label(self, ctx: Any) -> dict[str, Any]:
        return behaviours["print_label"](ctx)

    @scan.effect(atomic=True)
    def count_scan(self, ctx: Any) -> None:
        Parcel.objects.filter(pk=ctx.record.pk).update(scans=ctx.record.scans + 1)

    @take_back.effect
    def refund_postage(self, ctx: Any) -> dict[str, Any]:
        return behaviours["refund_postage"](ctx)


def _print(ctx: Any) -> dict[str, Any]:
    return {"label": f"L-{ctx.attempt}"}


def _refund(ctx: Any) -> dict[str, Any]:
    return {"refunded": True}


DEFAULTS = {"print_label": _print, "refund_postage": _refund}
# Tests replace what an effect does here, by name; the fixture `behave` puts the defaults back.
behaviours: dict[str, Any] = dict(DEFAULTS)
