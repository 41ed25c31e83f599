"""What an operator may do about a timeout or deadline that was refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from lifecycle import SYSTEM, clock, operations
from lifecycle.exceptions import GuardRefused, NothingToContinue, UnknownLifecycle
from lifecycle.models import OperatorAction, TransitionLog, TriggerHold
from lifecycle.runtime import create, register_guard
from lifecycle.testing import Kit
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss() -> User:
    return User.objects.create_superuser("ada", password="x")


@pytest.fixture
def closed(lifecycle: Kit) -> Iterator[list[bool]]:
    """While it holds something, no ticket is closed or escalated."""
    shut = [True]
    removers = [
        register_guard("tickets", name, lambda ctx: "Not on Sundays." if shut else True)
        for name in ("close", "escalate")
    ]
    yield shut
    for remove in removers:
        remove()


@pytest.fixture
def held(lifecycle: Kit, closed: list[bool], boss: User) -> TriggerHold:
    ticket = create(Ticket(), actor=SYSTEM)
    ticket.lifecycle.fire("solve", actor=boss, input={"answer": "It is off."})
    lifecycle.travel(days=3)
    lifecycle.tick()
    hold: TriggerHold = TriggerHold.objects.get()
    return hold


def test_a_held_timeout_that_nothing_refuses_any_more_fires_at_once(
    lifecycle: Kit, held: TriggerHold, closed: list[bool], boss: User
) -> None:
    closed.clear()
    lifecycle.tick()
    assert Ticket.objects.get().status == "solved"
    operations.fire_held(held, actor=boss, reason="it is Monday")
    assert Ticket.objects.get().status == "closed"
    assert TriggerHold.objects.count() == 0
    entry = TransitionLog.objects.latest("id")
    assert (entry.transition, entry.actor_kind, entry.reason) == (
        "close", "system", "timeout close_solved, tried by an operator",
    )  # fmt: skip
    row = OperatorAction.objects.get()
    assert (row.action, row.actor_label, row.reason, row.record_id) == (
        "fire_held",
        "ada",
        "it is Monday",
        held.record_id,
    )
    assert row.before["trigger"] == "close_solved"


def test_a_trigger_that_is_refused_again_counts_the_try_and_keeps_its_audit_row(held: TriggerHold, boss: User) -> None:
    with pytest.raises(GuardRefused, match="Not on Sundays"):
        operations.fire_held(held, actor=boss)
    held.refresh_from_db()
    assert held.tries == 2
    assert held.retry_at > clock.now() + dt.timedelta(seconds=100)
    assert OperatorAction.objects.count() == 1
    assert Ticket.objects.get().status == "solved"


def test_a_held_deadline_is_fired_under_the_key_of_its_date(lifecycle: Kit, closed: list[bool], boss: User) -> None:
    create(Ticket(due_on=clock.now() + dt.timedelta(hours=1)), actor=SYSTEM)
    lifecycle.travel(hours=2)
    lifecycle.tick()
    hold = TriggerHold.objects.get()
    closed.clear()
    operations.fire_held(hold, actor=boss)
    assert Ticket.objects.get().status == "escalated"
    entry = TransitionLog.objects.latest("id")
    assert (entry.request_id or "").startswith("$deadline:escalate_overdue:")


def test_what_is_no_longer_due_is_not_fired(held: TriggerHold, closed: list[bool], boss: User) -> None:
    from tests.support.lifecycles import TicketLifecycle

    closed.clear()
    operations.set_parameter(TicketLifecycle.definition, "patience", "P9D", actor=boss)
    with pytest.raises(NothingToContinue, match="no longer due"):
        operations.fire_held(held, actor=boss)
    assert Ticket.objects.get().status == "solved"
    assert OperatorAction.objects.filter(action="fire_held").count() == 0


def test_a_released_hold_is_asked_by_the_next_tick_and_its_pauses_begin_anew(
    lifecycle: Kit, held: TriggerHold, closed: list[bool], boss: User
) -> None:
    operations.release_hold(held, actor=boss, reason="asked by phone")
    lifecycle.tick()
    held.refresh_from_db()
    assert held.tries == 1
    closed.clear()
    operations.release_hold(held, actor=boss)
    lifecycle.tick()
    assert Ticket.objects.get().status == "closed"
    assert OperatorAction.objects.filter(action="release_hold").count() == 2


def test_a_hold_that_is_gone_is_told_as_such(lifecycle: Kit, held: TriggerHold, boss: User) -> None:
    TriggerHold.objects.all().delete()
    for operator_action in (operations.fire_held, operations.release_hold):
        with pytest.raises(NothingToContinue, match="This hold is gone"):
            operator_action(held, actor=boss)
    assert OperatorAction.objects.count() == 0


def test_a_trigger_this_process_does_not_know_is_not_fired(held: TriggerHold, boss: User) -> None:
    TriggerHold.objects.update(trigger="gone")
    with pytest.raises(UnknownLifecycle, match="no code for the timeout or deadline “gone”"):
        operations.fire_held(held, actor=boss)
    assert OperatorAction.objects.count() == 0


def test_somebody_has_to_do_it(held: TriggerHold) -> None:
    with pytest.raises(TypeError, match="actor"):
        operations.fire_held(held, actor=None)
