"""Calls of a project of one's own: what is wrong must be an error (an ignore that hides none is one, too)."""

from __future__ import annotations

import datetime as dt
from typing import assert_type

from django.db.models import QuerySet
from ticketing.lifecycles import ContractLifecycle, TicketLifecycle
from ticketing.models import Contract, Ticket

from lifecycle import SYSTEM, Fired, RecordView, Transition, afire, create, fire, fire_many
from lifecycle.models import Run, TransitionLog


def answers_know_the_model(ticket: Ticket) -> None:
    assert_type(create(Ticket(title="Lamp"), actor=SYSTEM), Ticket)
    fired = ticket.lifecycle.fire("assign", actor=SYSTEM)
    assert_type(fired, Fired[Ticket])
    assert_type(fired.record, Ticket)
    assert_type(fired.record.title, str)
    assert_type(ticket.lifecycle.view(actor=SYSTEM), RecordView[Ticket])
    assert_type(fire(ticket, "assign", actor=SYSTEM).record, Ticket)
    assert_type(fire_many([ticket], "assign", actor=SYSTEM).fired[0].record, Ticket)


def querysets_know_their_rows(ticket: Ticket) -> None:
    entries: QuerySet[TransitionLog] = ticket.lifecycle.history.filter(transition="assign")
    runs: QuerySet[Run] = ticket.lifecycle.runs
    assert_type(entries.get(), TransitionLog)
    assert_type(runs.get(), Run)


def columns_know_their_values(ticket: Ticket, contract: Contract) -> None:
    assert_type(ticket.status, str)
    assert_type(ticket.status_changed_at, dt.datetime | None)
    assert_type(ticket.lifecycle_version, int)
    assert_type(contract.state, str)
    assert_type(contract.revision, int)
    assert_type(ticket.lifecycle.state, str)


def transitions_are_named_or_given(ticket: Ticket, contract: Contract) -> None:
    ticket.lifecycle.fire(TicketLifecycle.assign, actor=SYSTEM)
    ticket.lifecycle.can("close", actor=SYSTEM)
    ticket.lifecycle.fire("nope", actor=SYSTEM)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    ticket.lifecycle.can("nope", actor=SYSTEM)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    TicketLifecycle.nope.name.upper()  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    # Another accessor; its names are not given, so that any text may be one.
    assert_type(contract.process.fire("sign", actor=SYSTEM), Fired[Contract])
    contract.process.fire(ContractLifecycle.sign, actor=SYSTEM)
    contract.process.fire(5, actor=SYSTEM)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def somebody_fires(ticket: Ticket) -> None:
    ticket.lifecycle.fire("assign")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    fire(ticket, "assign")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    ticket.lifecycle.available()  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    fire(ticket, "close", actor=SYSTEM, expect_version="3")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def generic_code_takes_any_name(ticket: Ticket, name: str, transition: Transition) -> None:
    fire(ticket, name, actor=SYSTEM)
    fire(ticket, transition, actor=SYSTEM)
    ticket.lifecycle.fire(transition, actor=SYSTEM)


async def awaited_answers_are_the_same(ticket: Ticket) -> None:
    assert_type(await ticket.lifecycle.afire("assign", actor=SYSTEM), Fired[Ticket])
    assert_type(await afire(ticket, "assign", actor=SYSTEM), Fired[Ticket])
    await ticket.lifecycle.afire("assign")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    await ticket.lifecycle.afire("nope", actor=SYSTEM)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
