"""Many records through one transition: decided singly, written together."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from lifecycle import SYSTEM, registry
from lifecycle.exceptions import GuardRefused, InvalidRequestId, RecordNotFound, UnknownTransition, WrongState
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create, fire_many, register_guard
from lifecycle.runtime.verbs.batch import fire_due
from lifecycle.testing import assert_statements
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db


@pytest.fixture
def solved(new_ticket: Any) -> list[Ticket]:
    tickets = [new_ticket(title=f"T{number}") for number in range(5)]
    for ticket in tickets:
        ticket.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x"})
    return tickets


def test_a_batch_is_written_with_one_update_and_one_insert_of_entries_and_runs(db: Any) -> None:
    parcels = [create(Parcel(), actor=SYSTEM) for _ in range(6)]

    with assert_statements(5) as sent:
        report = fire_many(Parcel.objects.all(), "send", actor=SYSTEM)

    assert len(report.fired) == 6
    assert [sql.split()[0] for sql in sent] == ["SELECT", "SELECT", "UPDATE", "INSERT", "INSERT"]
    assert Run.objects.filter(effect="print_label", stay_version=2).count() == 6
    assert {parcel.lifecycle.history.last().transition for parcel in parcels} == {"send"}


def test_one_refused_record_does_not_stop_the_others(solved: list[Ticket], new_ticket: Any) -> None:
    still_open = new_ticket()
    remove = register_guard("tickets", "close", lambda ctx: ctx.record.title != "T3" or "Not this one.")
    try:
        report = fire_many(Ticket.objects.all(), "close", actor=SYSTEM)
    finally:
        remove()

    assert len(report.fired) == 4
    refused = {refusal.record_id: refusal.error for refusal in report.refused}
    assert isinstance(refused[str(still_open.pk)], WrongState)
    assert isinstance(refused[str(solved[3].pk)], GuardRefused)
    assert str(report) == "4 fired, 2 refused"
    assert Ticket.objects.filter(status="closed").count() == 4


def test_a_guard_that_raises_is_that_records_failure(solved: list[Ticket]) -> None:
    def broken(ctx: Any) -> bool:
        if ctx.record.title == "T1":
            raise ZeroDivisionError
        return True

    remove = register_guard("tickets", "close", broken)
    try:
        report = fire_many(Ticket.objects.all(), "close", actor=SYSTEM)
    finally:
        remove()

    assert [type(refusal.error) for refusal in report.refused] == [ZeroDivisionError]
    assert len(report.fired) == 4


def test_different_changes_are_written_to_the_right_rows(new_ticket: Any) -> None:
    tickets = [new_ticket(priority=number) for number in (2, 5, 8)]

    report = fire_many(tickets, "ask", actor=SYSTEM, input={"note": "which?"})

    assert [fired.record.priority for fired in report.fired] == [3, 6, 9]
    assert list(Ticket.objects.order_by("pk").values_list("priority", "note")) == [
        (3, "which?"),
        (6, "which?"),
        (9, "which?"),
    ]
    assert [ticket.status for ticket in tickets] == ["waiting"] * 3, "the instances given are up to date"


def test_routes_lead_each_record_to_its_own_target(new_ticket: Any) -> None:
    calm, hot = new_ticket(priority=1), new_ticket(priority=7)

    # `triage` leaves `open`, which has a hook: record by record.
    fire_many([calm, hot], "triage", actor=SYSTEM)

    assert (calm.status, hot.status) == ("waiting", "escalated")


def test_instances_that_are_gone_are_reported(new_ticket: Any) -> None:
    ticket, gone = new_ticket(), new_ticket()
    Ticket.objects.filter(pk=gone.pk).delete()

    report = fire_many([ticket, gone], "touch", actor=SYSTEM)

    assert [type(refusal.error) for refusal in report.refused] == [RecordNotFound]
    assert len(report.fired) == 1


def test_a_call_that_is_wrong_in_itself_raises_before_anything_is_fired(solved: list[Ticket]) -> None:
    with pytest.raises(UnknownTransition):
        fire_many(Ticket.objects.all(), "cloze", actor=SYSTEM)
    with pytest.raises(TypeError):
        fire_many(Ticket.objects.all(), "close", actor=None)
    assert not Ticket.objects.filter(status="closed").exists()


def test_a_repeated_batch_with_keys_does_nothing_twice(solved: list[Ticket]) -> None:
    call: dict[str, Any] = {"actor": SYSTEM, "request_id": lambda pk: f"night:{pk}"}
    fire_many(Ticket.objects.all(), "reopen", **call)

    report = fire_many(Ticket.objects.all(), "reopen", **call)

    assert [fired.replayed for fired in report.fired] == [True] * 5
    assert TransitionLog.objects.filter(transition="reopen").count() == 5


def test_a_key_of_the_librarys_own_kind_is_refused(solved: list[Ticket]) -> None:
    with pytest.raises(InvalidRequestId):
        fire_many(Ticket.objects.all(), "reopen", actor=SYSTEM, request_id=lambda pk: "$x")


def test_large_batches_are_cut_into_pieces(new_ticket: Any) -> None:
    for _ in range(5):
        new_ticket()

    report = fire_many(Ticket.objects.all(), "touch", actor=SYSTEM, batch_size=2)

    assert len(report.fired) == 5


def test_an_empty_batch_is_no_error(db: Any) -> None:
    assert str(fire_many([], "touch", actor=SYSTEM)) == "0 fired, 0 refused"
    assert str(fire_many(Ticket.objects.none(), "touch", actor=SYSTEM)) == "0 fired, 0 refused"


def test_what_is_no_longer_due_is_passed_over(solved: list[Ticket]) -> None:
    definition = registry.get("tickets")
    early, late = solved[0], solved[1]
    late.lifecycle.fire("reopen", actor=SYSTEM)
    late.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "again"})
    threshold = late.status_changed_at

    report = fire_due(
        definition,
        [early.pk, late.pk],
        "close",
        using="default",
        expect_changed_before=threshold,
        reason="timeout close_solved",
    )

    assert [fired.record.pk for fired in report.fired] == [early.pk]
    assert report.refused == []
    assert early.lifecycle.history.last().reason == "timeout close_solved"
    assert early.lifecycle.history.last().actor_kind == "system"


def test_a_stay_that_began_at_the_threshold_is_not_due(solved: list[Ticket]) -> None:
    ticket = solved[0]
    definition = registry.get("tickets")

    for before, fired in [(ticket.status_changed_at, 0), (ticket.status_changed_at + dt.timedelta(microseconds=1), 1)]:
        report = fire_due(definition, [ticket.pk], "close", using="default", expect_changed_before=before)
        assert len(report.fired) == fired
