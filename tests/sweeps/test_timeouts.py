"""Timeouts: once per stay, in batches, and nobody's refusal is anybody else's."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, connections, transaction

from lifecycle import SYSTEM, registry
from lifecycle.models import ParameterOverride, Run, TransitionLog, TriggerHold
from lifecycle.runtime import create, fire, fire_many, register_guard
from lifecycle.store import timing
from lifecycle.sweeps.tick import TickReport, tick
from tests.support.models import Parcel, Ticket
from tests.sweeps.conftest import Time

pytestmark = pytest.mark.django_db

S = Ticket.Status


def solved(**values: Any) -> Ticket:
    ticket = create(Ticket(**values), actor=SYSTEM)
    fire(ticket, "solve", actor=SYSTEM, input={"answer": "Restart it."})
    return ticket


def many_solved(count: int) -> list[Ticket]:
    tickets = [create(Ticket(title=str(number)), actor=SYSTEM) for number in range(count)]
    fire_many(tickets, "solve", actor=SYSTEM, input={"answer": "Restart it."})
    return tickets


def state(ticket: Ticket) -> str:
    return str(Ticket.objects.values_list("status", flat=True).get(pk=ticket.pk))


def pass_of(time: Time | None = None) -> TickReport:
    report = tick(force=True)
    assert report.failures == []
    return report


def test_a_record_that_has_stayed_long_enough_is_moved_by_the_system_and_no_earlier(time: Time) -> None:
    ticket = solved()
    time.passes(days=2)  # to the microsecond: "longer than", not "as long as"
    assert pass_of().done("timeouts") == 0
    assert state(ticket) == S.SOLVED

    time.passes(microseconds=1)
    assert pass_of().done("timeouts") == 1

    entry = TransitionLog.objects.of("tickets", str(ticket.pk)).last()
    assert (entry.transition, entry.actor_kind, entry.reason) == ("close", "system", "timeout close_solved")
    assert pass_of().done("timeouts") == 0
    assert TransitionLog.objects.filter(transition="close").count() == 1


@pytest.mark.parametrize("microsecond", [0, 1, 500_000, 999_999])
def test_a_stay_that_began_at_any_microsecond_is_due_at_that_microsecond(time: Time, microsecond: int) -> None:
    # SQLite compares texts, and Django leaves ".000000" out of them.
    time.now = time.now.replace(microsecond=microsecond)
    ticket = solved()
    time.passes(days=2, microseconds=-1)
    pass_of()
    assert state(ticket) == S.SOLVED
    time.passes(microseconds=2)
    pass_of()
    assert state(ticket) == S.CLOSED


def test_a_timeout_of_an_earlier_visit_does_not_end_a_later_one(time: Time) -> None:
    """kernelci/kernelci-core PR #3121, bucketeer-io/bucketeer #913."""
    ticket = solved()
    time.passes(days=1)
    fire(ticket, "reopen", actor=SYSTEM)
    fire(ticket, "solve", actor=SYSTEM, input={"answer": "Really restart it."})
    time.passes(days=1, hours=1)
    pass_of()
    assert state(ticket) == S.SOLVED
    time.passes(days=1)
    pass_of()
    assert state(ticket) == S.CLOSED


def test_all_that_are_due_move_in_one_pass_however_many_batches_that_takes(
    time: Time, redeclare: Callable[..., Any]
) -> None:
    timeout = replace(registry.get("tickets").timeouts["close_solved"], batch_size=10)
    redeclare("tickets", timeouts={"close_solved": timeout})
    tickets = many_solved(25)
    solved()
    time.passes(days=3)
    fresh = solved()
    report = pass_of()
    assert report.done("timeouts") == 26
    assert {state(ticket) for ticket in tickets} == {S.CLOSED}
    assert state(fresh) == S.SOLVED


def test_the_patience_an_operator_set_counts_at_once(time: Time) -> None:
    ticket = solved()
    ParameterOverride.objects.create(lifecycle="tickets", name="patience", value="PT1H", updated_at=time.now)
    time.passes(hours=2)
    pass_of()
    assert state(ticket) == S.CLOSED


class TestRefused:
    @pytest.fixture(autouse=True)
    def guard(self) -> Any:
        def is_paid(ctx: Any) -> Any:
            if "poison" in ctx.record.title:
                raise ZeroDivisionError("\x00 a guard with a bug \x00")
            return True if "paid" in ctx.record.title else "The bill is not paid."

        undo = register_guard("tickets", "close", is_paid, code="unpaid")
        yield
        undo()

    def test_it_is_parked_with_its_reasons_and_the_others_go_on(self, time: Time) -> None:
        """vm0-ai/vm0 #4468, evoila/meho PR #2368: what is skipped is seen."""
        refused, paid, poison = solved(title="debt"), solved(title="paid"), solved(title="poison")
        time.passes(days=3)
        report = pass_of()

        assert report.done("timeouts") == 1
        assert (state(refused), state(paid), state(poison)) == (S.SOLVED, S.CLOSED, S.SOLVED)
        refused.refresh_from_db()
        hold = TriggerHold.objects.get(record_id=str(refused.pk))
        assert (hold.lifecycle, hold.trigger, hold.version, hold.tries) == (
            "tickets", "close_solved", refused.lifecycle_version, 1,
        )  # fmt: skip
        assert [reason["code"] for reason in hold.refusals] == ["unpaid"]
        assert hold.refusals[0]["message"] == "The bill is not paid."
        assert hold.retry_at == time.now + dt.timedelta(minutes=1)
        broken = TriggerHold.objects.get(record_id=str(poison.pk))
        assert broken.refusals[0]["message"] == "ZeroDivisionError:  a guard with a bug "
        assert Run.objects.count() == 0

    def test_it_is_asked_again_after_pauses_that_double_up_to_the_maximum(self, time: Time) -> None:
        ticket = solved(title="debt")
        time.passes(days=3)
        pauses = []
        for tries in range(1, 10):
            pass_of()
            hold = TriggerHold.objects.get()
            assert hold.tries == tries
            pauses.append((hold.retry_at - time.now).total_seconds() / 60)
            time.now = hold.retry_at - dt.timedelta(microseconds=1)
            pass_of()
            assert TriggerHold.objects.get().tries == tries, "asked before its time"
            time.now = hold.retry_at
        assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        assert state(ticket) == S.SOLVED

    def test_once_the_reason_is_lifted_it_fires_and_the_hold_is_gone(self, time: Time) -> None:
        ticket = solved(title="debt")
        time.passes(days=3)
        pass_of()
        Ticket.objects.filter(pk=ticket.pk).update(title="paid")
        time.passes(minutes=1)
        assert pass_of().done("timeouts") == 1
        assert state(ticket) == S.CLOSED
        assert not TriggerHold.objects.exists()

    def test_a_new_stay_is_not_held_by_the_refusals_of_the_old_one(self, time: Time) -> None:
        ticket = solved(title="debt")
        time.passes(days=30)
        for _ in range(8):
            pass_of()
            time.now = TriggerHold.objects.get().retry_at
        pass_of()
        fire(ticket, "reopen", actor=SYSTEM)
        ticket.title = "paid"
        ticket.save()
        fire(ticket, "solve", actor=SYSTEM, input={"answer": "Paid."})
        registry_patience = dt.timedelta(minutes=1)
        ParameterOverride.objects.create(
            lifecycle="tickets", name="patience", value=registry_patience.total_seconds(), updated_at=time.now
        )
        time.passes(minutes=2)
        assert TriggerHold.objects.get().retry_at > time.now
        pass_of()
        assert state(ticket) == S.CLOSED

    def test_the_hold_of_a_stay_that_ended_or_a_record_that_is_gone_is_deleted(self, time: Time) -> None:
        moved, gone, stays = solved(title="debt"), solved(title="debt"), solved(title="debt")
        time.passes(days=3)
        pass_of()
        assert TriggerHold.objects.count() == 3
        fire(moved, "reopen", actor=SYSTEM)
        gone.delete()
        time.passes(minutes=2)
        assert pass_of().done("ended_holds") == 2
        assert [hold.record_id for hold in TriggerHold.objects.all()] == [str(stays.pk)]

    def test_holds_are_deleted_by_the_slow_pass_long_before_they_are_due_again(self, time: Time) -> None:
        ticket = solved(title="debt")
        time.passes(days=3)
        for _ in range(7):
            pass_of()
            time.now = TriggerHold.objects.get().retry_at
        pass_of()
        fire(ticket, "reopen", actor=SYSTEM)
        time.passes(minutes=11)
        assert TriggerHold.objects.get().retry_at > time.now
        pass_of()
        assert not TriggerHold.objects.exists()

    def test_those_that_refuse_cost_a_pass_nothing_but_their_place_in_the_query(
        self, time: Time, redeclare: Callable[..., Any]
    ) -> None:
        timeout = replace(registry.get("tickets").timeouts["close_solved"], batch_size=5)
        redeclare("tickets", timeouts={"close_solved": timeout})
        refusing = [solved(title="debt") for _ in range(12)]
        willing = solved(title="paid")
        time.passes(days=3)
        pass_of()
        assert state(willing) == S.CLOSED
        assert TriggerHold.objects.count() == len(refusing)
        late = solved(title="paid")
        time.passes(seconds=30)
        Ticket.objects.bulk_update([late], ["title"])
        with _Statements() as statements:
            pass_of()
        assert not [sql for sql in statements if 'FROM "support_ticket"' in sql and "FOR UPDATE" in sql]
        assert TriggerHold.objects.filter(tries=1).count() == len(refusing)

    def test_the_holds_of_records_with_uuid_keys_are_found_too(self, time: Time, redeclare: Callable[..., Any]) -> None:
        definition = registry.get("parcels")
        timeout = replace(
            registry.get("tickets").timeouts["close_solved"],
            name="give_up", transition="take_back", when=("packed",), after=lambda parameters: dt.timedelta(days=1),
        )  # fmt: skip
        redeclare("parcels", timeouts={"give_up": timeout})
        undo = register_guard("parcels", "take_back", lambda ctx: "No.", code="no")
        try:
            parcel = create(Parcel(), actor=SYSTEM)
            time.passes(days=2)
            pass_of()
            pass_of()
        finally:
            undo()
        hold = TriggerHold.objects.get()
        assert (hold.lifecycle, hold.record_id, hold.tries) == (definition.name, str(parcel.pk), 1)


class _Statements:
    """The SQL sent while open."""

    def __enter__(self) -> list[str]:
        self.sent: list[str] = []
        self._wrapper = connection.execute_wrapper(self._note)
        self._wrapper.__enter__()
        return self.sent

    def _note(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.sent.append(sql)
        return execute(sql, params, many, context)

    def __exit__(self, *error: object) -> None:
        self._wrapper.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        (lambda parameters: 5, "expected a timedelta, got 5"),
        (lambda parameters: 1 / 0, "ZeroDivisionError"),
        (lambda parameters: dt.timedelta.max, "OverflowError"),
    ],
)
def test_a_timeout_whose_patience_cannot_be_told_is_reported_and_the_next_one_fires(
    time: Time, redeclare: Callable[..., Any], after: Any, sentence: str
) -> None:
    good = registry.get("tickets").timeouts["close_solved"]
    redeclare("tickets", timeouts={"bad": replace(good, name="bad", after=after), "close_solved": good})
    ticket = solved()
    time.passes(days=3)
    report = tick(force=True)
    assert [failure for failure in report.failures if "tickets.bad" in failure and sentence in failure]
    assert len(report.failures) == 1
    assert state(ticket) == S.CLOSED


def test_a_timeout_that_leads_back_to_its_own_state_fires_once_per_period(
    time: Time, redeclare: Callable[..., Any]
) -> None:
    timeout = replace(
        registry.get("tickets").timeouts["close_solved"],
        transition="touch", when=("open",), after=lambda parameters: dt.timedelta(hours=1),
    )  # fmt: skip
    redeclare("tickets", timeouts={"close_solved": timeout})
    ticket = create(Ticket(), actor=SYSTEM)
    for _ in range(3):
        time.passes(hours=1, seconds=1)
        assert pass_of().done("timeouts") == 1
        assert pass_of().done("timeouts") == 0
    assert TransitionLog.objects.of("tickets", str(ticket.pk)).filter(transition="touch").count() == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_a_record_that_somebody_holds_locked_is_passed_over_and_comes_next_time(time: Time) -> None:
    first, second = solved(), solved()
    time.passes(days=3)
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                Ticket.objects.select_for_update().get(pk=first.pk)
                locked.set()
                done.wait(20)
        finally:
            connections["default"].close()

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert locked.wait(10)
        assert pass_of().done("timeouts") == 1
        assert (state(first), state(second)) == (S.SOLVED, S.CLOSED)
        assert not TriggerHold.objects.exists()
    finally:
        done.set()
        holder.join(10)
    assert pass_of().done("timeouts") == 1
    assert state(first) == S.CLOSED


@pytest.mark.django_db(transaction=True)
def test_two_passes_at_once_fire_each_timeout_once(time: Time) -> None:
    """django-q #231: two schedulers made the work of one schedule twice."""
    tickets = many_solved(30)
    time.passes(days=3)
    start = threading.Barrier(2)
    reports: list[TickReport] = []

    def go() -> None:
        try:
            start.wait(10)
            reports.append(tick(force=True))
        finally:
            connections["default"].close()

    threads = [threading.Thread(target=go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [report.failures for report in reports] == [[], []]
    pass_of()  # what both passed over because the other held it
    assert {state(ticket) for ticket in tickets} == {S.CLOSED}
    assert TransitionLog.objects.filter(transition="close").count() == 30


@pytest.mark.django_db(transaction=True)
def test_now_is_the_database_clock_when_nobody_travels() -> None:
    """db-scheduler #433: clocks of several machines differ."""
    solved()
    with _Statements() as statements:
        pass_of()
    asked = [sql for sql in statements if "statement_timestamp()" in sql]
    assert bool(asked) is (connection.vendor == "postgresql")
    assert abs((timing.now("default") - dt.datetime.now(dt.UTC)).total_seconds()) < 60
