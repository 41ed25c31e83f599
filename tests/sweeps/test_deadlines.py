"""Deadlines: a date of the record's own has come; once per date, whatever happened between."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import models
from django.db.models import ExpressionWrapper, F
from django.db.models.functions import TruncDate

from lifecycle import SYSTEM, registry
from lifecycle.models import TransitionLog, TriggerHold
from lifecycle.runtime import create, fire
from lifecycle.sweeps.tick import TickReport, tick
from tests.support.models import Ticket
from tests.sweeps.conftest import Time

pytestmark = pytest.mark.django_db

S = Ticket.Status


def due_in(time: Time, **duration: float) -> Ticket:
    ticket: Ticket = create(Ticket(due_on=time.now + dt.timedelta(**duration)), actor=SYSTEM)
    return ticket


def pass_of() -> TickReport:
    report = tick(force=True)
    assert report.failures == []
    return report


def state(ticket: Ticket) -> str:
    return str(Ticket.objects.values_list("status", flat=True).get(pk=ticket.pk))


def escalations(ticket: Ticket) -> list[str]:
    entries = TransitionLog.objects.of("tickets", str(ticket.pk)).filter(transition="escalate")
    return list(entries.values_list("request_id", flat=True))


def test_it_fires_when_the_date_has_come_and_not_for_records_without_one(time: Time) -> None:
    ticket, dateless = due_in(time, hours=1), create(Ticket(), actor=SYSTEM)
    time.passes(hours=1, microseconds=-1)
    assert pass_of().done("deadlines") == 0
    time.passes(microseconds=1)
    assert pass_of().done("deadlines") == 1
    assert (state(ticket), state(dateless)) == (S.ESCALATED, S.OPEN)
    entry = TransitionLog.objects.of("tickets", str(ticket.pk)).last()
    assert (entry.actor_kind, entry.reason) == ("system", "deadline escalate_overdue")
    assert entry.request_id == "$deadline:escalate_overdue:2026-03-01T13:00:00.250000+00:00"


def test_a_record_that_comes_back_with_the_same_date_is_left_alone_and_not_asked_every_pass(time: Time) -> None:
    ticket = due_in(time, hours=1)
    time.passes(hours=2)
    pass_of()
    fire(ticket, "solve", actor=SYSTEM, input={"answer": "…"})
    fire(ticket, "reopen", actor=SYSTEM)

    assert pass_of().done("deadlines") == 0
    assert state(ticket) == S.OPEN
    assert TriggerHold.objects.get().refusals[0]["code"] == "already_done"
    pass_of()
    assert TriggerHold.objects.get().tries == 1
    assert len(escalations(ticket)) == 1


def test_a_new_date_fires_at_its_time_although_the_old_one_is_parked(time: Time) -> None:
    ticket = due_in(time, hours=1)
    time.passes(hours=2)
    pass_of()
    fire(ticket, "solve", actor=SYSTEM, input={"answer": "…"})
    fire(ticket, "reopen", actor=SYSTEM)
    pass_of()
    Ticket.objects.filter(pk=ticket.pk).update(due_on=time.now + dt.timedelta(seconds=10))
    time.passes(seconds=11)
    assert TriggerHold.objects.get().retry_at > time.now
    assert pass_of().done("deadlines") == 1
    assert len(set(escalations(ticket))) == 2


def test_a_refused_one_is_parked_and_tried_again(time: Time) -> None:
    ticket, other = due_in(time, hours=1), due_in(time, hours=1)
    Ticket.objects.filter(pk=ticket.pk).update(title="")
    time.passes(hours=2)
    assert pass_of().done("deadlines") == 1
    assert (state(ticket), state(other)) == (S.OPEN, S.ESCALATED)
    assert TriggerHold.objects.get().refusals[0]["code"] == "no_title"
    Ticket.objects.filter(pk=ticket.pk).update(title="Printer")
    assert pass_of().done("deadlines") == 0
    time.passes(minutes=1)
    assert pass_of().done("deadlines") == 1
    assert not TriggerHold.objects.exists()


def test_the_date_may_be_an_expression(time: Time, redeclare: Callable[..., Any]) -> None:
    early = ExpressionWrapper(F("due_on") - dt.timedelta(hours=1), output_field=models.DateTimeField())
    deadline = replace(registry.get("tickets").deadlines["escalate_overdue"], at=early)
    redeclare("tickets", deadlines={"escalate_overdue": deadline})
    ticket, later = due_in(time, minutes=59), due_in(time, minutes=61)
    pass_of()
    assert (state(ticket), state(later)) == (S.ESCALATED, S.OPEN)


def test_a_plain_date_has_come_when_its_day_begins(time: Time, redeclare: Callable[..., Any]) -> None:
    deadline = replace(registry.get("tickets").deadlines["escalate_overdue"], at=TruncDate("due_on"))
    redeclare("tickets", deadlines={"escalate_overdue": deadline})
    ticket = due_in(time, days=1)
    time.now = time.now.replace(hour=23, minute=59, second=59)
    pass_of()
    assert state(ticket) == S.OPEN
    time.passes(seconds=1)
    pass_of()
    assert escalations(ticket) == ["$deadline:escalate_overdue:2026-03-02"]


def test_a_refused_plain_date_is_parked_too(time: Time, redeclare: Callable[..., Any]) -> None:
    deadline = replace(registry.get("tickets").deadlines["escalate_overdue"], at=TruncDate("due_on"))
    redeclare("tickets", deadlines={"escalate_overdue": deadline})
    ticket = due_in(time, hours=-1)
    Ticket.objects.filter(pk=ticket.pk).update(title="")
    pass_of()
    pass_of()
    assert TriggerHold.objects.get().tries == 1


def test_all_batches_are_done_in_one_pass(time: Time, redeclare: Callable[..., Any]) -> None:
    deadline = replace(registry.get("tickets").deadlines["escalate_overdue"], batch_size=2)
    redeclare("tickets", deadlines={"escalate_overdue": deadline})
    tickets = [due_in(time, hours=-1) for _ in range(5)]
    assert pass_of().done("deadlines") == 5
    assert {state(ticket) for ticket in tickets} == {S.ESCALATED}


@pytest.mark.django_db(transaction=True)
def test_a_deadline_on_a_column_that_is_not_there_is_reported_and_the_next_one_fires(
    time: Time, redeclare: Callable[..., Any]
) -> None:
    good = registry.get("tickets").deadlines["escalate_overdue"]
    redeclare("tickets", deadlines={"bad": replace(good, name="bad", at="due_never"), good.name: good})
    ticket = due_in(time, hours=-1)
    report = tick(force=True)
    assert len(report.failures) == 1
    assert "tickets.bad" in report.failures[0]
    assert state(ticket) == S.ESCALATED
