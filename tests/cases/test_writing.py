"""Atomicity, saving, concurrency, history, fields: what people lost in public."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, connections, migrations, transaction
from django.db.migrations.writer import MigrationWriter

from lifecycle import SYSTEM, Actor
from lifecycle.exceptions import Conflict, NotAnInitialState, StateWriteRefused, WrongState
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create, fire, fire_many, register_guard
from lifecycle.store import history
from lifecycle.testing import assert_history, force_state, race
from tests.support import lifecycles
from tests.support.models import Parcel, Ticket


@pytest.fixture
def ticket(db: Any) -> Ticket:
    return create(Ticket(), actor=SYSTEM)


def fresh(ticket: Ticket) -> Ticket:
    return Ticket.objects.get(pk=ticket.pk)


# Atomicity and concurrency ----------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_of_two_workers_the_second_is_refused_before_its_hooks_run() -> None:
    """kmmbvnr/django-fsm #46."""
    ticket = create(Ticket(), actor=SYSTEM)
    lifecycles.calls.clear()

    race(
        lambda: fresh(ticket).lifecycle.fire("ask", actor=SYSTEM),
        lambda: fresh(ticket).lifecycle.fire("ask", actor=SYSTEM),
    )

    assert [call for call in lifecycles.calls if call == ("hook", "ask")] == [("hook", "ask")]


def test_state_and_related_rows_are_one_transaction(ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
    """kmmbvnr/django-fsm #4."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise DatabaseError("disk full")

    monkeypatch.setattr(history, "append", fail)

    with pytest.raises(DatabaseError, match="disk full"):
        ticket.lifecycle.fire("ask", actor=SYSTEM, input={"note": "x"})
    assert (fresh(ticket).status, fresh(ticket).note) == ("open", "")


def test_firing_persists_without_a_save(ticket: Ticket) -> None:
    """kmmbvnr/django-fsm #79, #272, #265."""
    fire(fresh(ticket), "ask", actor=SYSTEM)

    assert fresh(ticket).status == "waiting"


def test_a_conflict_is_typed_and_says_that_it_may_be_tried_again(ticket: Ticket) -> None:
    """kmmbvnr/django-fsm #279, #211."""
    ticket.lifecycle.fire("touch", actor=SYSTEM)

    with pytest.raises(Conflict) as caught:
        ticket.lifecycle.fire("touch", actor=SYSTEM, expect_version=1)
    assert caught.value.retryable


def test_guards_are_asked_of_the_row_as_it_is_under_the_lock(ticket: Ticket) -> None:
    """Borderless360/django-logic #86."""
    stale = fresh(ticket)
    Ticket.objects.filter(pk=ticket.pk).update(priority=9)

    verdict = stale.lifecycle.can("solve", actor=SYSTEM)
    with pytest.raises(Exception, match="by phone"):
        stale.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x"})

    assert verdict.allowed, "the stale instance itself looked fine"


def test_a_stale_instance_cannot_repeat_a_transition(ticket: Ticket) -> None:
    """aasm/aasm #577."""
    one, two = fresh(ticket), fresh(ticket)
    one.lifecycle.fire("ask", actor=SYSTEM)

    with pytest.raises(WrongState):
        two.lifecycle.fire("ask", actor=SYSTEM)
    assert_history(ticket, ["$create", "ask"])


@pytest.mark.django_db(transaction=True)
def test_concurrent_entries_neither_deadlock_nor_collide() -> None:
    """gocardless/statesman #228, PR #350, #333."""
    ticket = create(Ticket(), actor=SYSTEM)

    def touch() -> Any:
        return fresh(ticket).lifecycle.fire("touch", actor=SYSTEM)

    race(*[touch] * 6)

    assert list(ticket.lifecycle.history.values_list("version", flat=True)) == [1, 2, 3, 4, 5, 6, 7]


def test_a_failed_fire_leaves_the_instance_as_it_was(ticket: Ticket) -> None:
    """gocardless/statesman PR #433."""
    before = {f.attname: getattr(ticket, f.attname) for f in ticket._meta.concrete_fields}

    def broken(ctx: Any) -> bool:
        raise ZeroDivisionError

    remove = register_guard("tickets", "ask", broken)
    try:
        with pytest.raises(ZeroDivisionError):
            ticket.lifecycle.fire("ask", actor=SYSTEM, input={"note": "x"})
    finally:
        remove()

    assert {f.attname: getattr(ticket, f.attname) for f in ticket._meta.concrete_fields} == before


def test_the_second_identical_call_enqueues_nothing_twice(db: Any) -> None:
    """inventree/InvenTree PR #12386, #12435."""
    parcel = create(Parcel(), actor=SYSTEM)
    parcel.lifecycle.fire("send", actor=SYSTEM, request_id="once")

    again = parcel.lifecycle.fire("send", actor=SYSTEM, request_id="once")

    assert again.replayed
    assert Run.objects.filter(effect="print_label").count() == 1


def test_wanting_the_state_one_is_in_is_no_error_where_declared(ticket: Ticket) -> None:
    """spatie/laravel-model-states PR #267, #270."""
    ticket.lifecycle.fire("escalate", actor=SYSTEM)

    assert ticket.lifecycle.fire("escalate", actor=SYSTEM).replayed
    assert_history(ticket, ["$create", "escalate"])


@pytest.mark.django_db(transaction=True)
def test_threads_share_definitions_but_no_data_of_a_call() -> None:
    """aasm/aasm #448, PR #778."""
    tickets = [create(Ticket(priority=number), actor=SYSTEM) for number in range(8)]

    def solve(ticket: Ticket) -> tuple[str, str]:
        try:
            ticket.lifecycle.fire("solve", actor=Actor(f"a{ticket.pk}"), input={"answer": str(ticket.pk)})
            entry = ticket.lifecycle.history.last()
            return entry.actor_id, fresh(ticket).answer
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(solve, tickets))

    assert answers == [(f"a{ticket.pk}", str(ticket.pk)) for ticket in tickets]


def test_the_state_is_checked_in_the_update_itself(ticket: Ticket) -> None:
    """ash-project/ash_state_machine #16: a row moved behind our back is noticed by the guarded UPDATE."""

    def behind_our_back(ctx: Any) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE support_ticket SET lifecycle_version = 7 WHERE id = %s", [ctx.record.pk])
        return True

    remove = register_guard("tickets", "ask", behind_our_back)
    try:
        with pytest.raises(Conflict):
            ticket.lifecycle.fire("ask", actor=SYSTEM)
    finally:
        remove()
    assert_history(ticket, ["$create"])


def test_there_and_back_again_is_noticed_by_the_version(ticket: Ticket) -> None:
    """django-commons/django-fsm-2: A to B to A passes a comparison of states."""
    version = ticket.lifecycle_version
    other = fresh(ticket)
    other.lifecycle.fire("ask", actor=SYSTEM)
    other.lifecycle.fire("reply", actor=SYSTEM)

    with pytest.raises(Conflict):
        ticket.lifecycle.fire("touch", actor=SYSTEM, expect_version=version)


def test_only_declared_columns_are_written(ticket: Ticket) -> None:
    """django-commons/django-fsm-2: a stale save() wiped what another request had stored."""
    stale = fresh(ticket)
    Ticket.objects.filter(pk=ticket.pk).update(note="paid")

    stale.lifecycle.fire("touch", actor=SYSTEM)

    assert fresh(ticket).note == "paid"
    assert stale.note == "paid"


def test_nobody_walks_round_the_machine_by_update_or_save(ticket: Ticket) -> None:
    """spatie/laravel-model-states #61; CERTCC/Vultron #2412."""
    with pytest.raises(StateWriteRefused), transaction.atomic():
        Ticket.objects.filter(pk=ticket.pk).update(status="closed")
    ticket.status = "closed"
    with pytest.raises(StateWriteRefused), transaction.atomic():
        ticket.save()
    assert fresh(ticket).status == "open"


# After the commit -------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_what_a_middle_savepoint_rolls_back_is_neither_enqueued_nor_told() -> None:
    """aasm/aasm #81, #241, #536."""
    parcel = create(Parcel(), actor=SYSTEM)

    with transaction.atomic():
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            with transaction.atomic():
                Parcel.objects.get(pk=parcel.pk).lifecycle.fire("send", actor=SYSTEM)
            raise ZeroDivisionError
        create(Ticket(), actor=SYSTEM)

    assert not Run.objects.exists()
    assert Parcel.objects.get(pk=parcel.pk).status == "packed"


@pytest.mark.django_db(transaction=True)
def test_a_callback_of_the_project_that_fails_loses_no_pending_effect() -> None:
    """project-koku/koku PR #6285; aasm/aasm #854: the hand-over does not depend on on_commit."""
    parcel = create(Parcel(), actor=SYSTEM)

    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        transaction.on_commit(broken)
        parcel.lifecycle.fire("send", actor=SYSTEM)

    assert Run.objects.get().status == "queued"
    assert Parcel.objects.get(pk=parcel.pk).status == "labelling"


# History ----------------------------------------------------------------------------------------


def test_any_kind_of_key_has_a_history(db: Any) -> None:
    """jazzband/django-fsm-log #34, #104."""
    parcel = create(Parcel(), actor=SYSTEM)
    parcel.lifecycle.fire("send", actor=SYSTEM)

    assert [entry.record_id for entry in parcel.lifecycle.history] == [str(parcel.pk)] * 2


def test_a_life_is_recorded_from_creation(ticket: Ticket) -> None:
    """jazzband/django-fsm-log #36, #145."""
    assert ticket.lifecycle.history.first().source is None


def test_reason_source_target_actor_and_data_are_on_every_entry(ticket: Ticket) -> None:
    """jazzband/django-fsm-log #12, #37, #69; kmmbvnr/django-fsm #133, #151."""
    fired = ticket.lifecycle.fire("triage", actor=Actor("bot", label="Bot"), input={"hint": 1}, reason="on call")

    entry = TransitionLog.objects.get(pk=fired.entry.pk)
    assert (entry.reason, entry.source, entry.target) == ("on call", "open", "waiting")
    assert (entry.actor_id, entry.actor_label, entry.input) == ("bot", "Bot", {"hint": 1})


def test_a_change_that_did_not_happen_has_no_entry(ticket: Ticket) -> None:
    """kmmbvnr/django-fsm (found by running it): the log said "done" for a row that never changed."""
    with pytest.raises(WrongState):
        ticket.lifecycle.fire("reopen", actor=SYSTEM)

    assert_history(ticket, ["$create"])


def test_reading_the_state_reads_no_history(ticket: Ticket, django_assert_num_queries: Any) -> None:
    """gocardless/statesman #122, #380, PR #564."""
    with django_assert_num_queries(1):
        assert [one.status for one in Ticket.objects.all()] == ["open"]


# Fields, migrations, deletion -------------------------------------------------------------------


def test_the_guard_breaks_neither_refresh_nor_full_clean(ticket: Ticket) -> None:
    """kmmbvnr/django-fsm #89, #174; django-fsm-2 #61."""
    ticket.lifecycle.fire("ask", actor=SYSTEM)
    ticket.refresh_from_db()
    ticket.full_clean()

    assert ticket.status == "waiting"


def test_no_record_begins_where_none_may(db: Any) -> None:
    """kmmbvnr/django-fsm #218, #120."""
    with pytest.raises(NotAnInitialState), transaction.atomic():
        Ticket.objects.create(status="closed")
    with pytest.raises(NotAnInitialState), transaction.atomic():
        Ticket.objects.bulk_create([Ticket(status="closed")])
    assert not Ticket.objects.exists()


def test_migrations_name_nothing_of_ours() -> None:
    """viewflow/viewflow #477, #486; HyphaApp/hypha PR #4561."""
    fields = [(name, Ticket._meta.get_field(name).clone()) for name in ("status", "status_changed_at")]

    class Migration(migrations.Migration):
        operations = [migrations.CreateModel("Ticket", fields)]

    text = MigrationWriter(Migration("0001_initial", "support"), include_header=False).as_string()
    assert "lifecycle" not in text
    assert "models.CharField" in text


def test_a_record_with_a_history_can_be_deleted(ticket: Ticket) -> None:
    """javrasya/django-river #184."""
    pk = ticket.pk
    ticket.lifecycle.fire("ask", actor=SYSTEM)

    ticket.delete()

    assert not Ticket.objects.filter(pk=pk).exists()
    assert TransitionLog.objects.filter(record_id=str(pk)).count() == 2, "its history stays"


def test_any_state_can_be_arranged_in_a_test(ticket: Ticket) -> None:
    """kmmbvnr/django-fsm #249; spatie/laravel-model-states #44; gocardless/statesman #77."""
    force_state(ticket, "solved")

    ticket.lifecycle.fire("close", actor=SYSTEM)

    assert fresh(ticket).status == "closed"


def test_models_and_migrations_agree(db: Any) -> None:
    """kmmbvnr/django-fsm #217: what is declared is what the database has."""
    call_command("makemigrations", "lifecycle", check=True, dry_run=True, verbosity=0)


# Many at once -----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_many_records_cost_a_few_statements(django_assert_max_num_queries: Any) -> None:
    """pluginaweek/state_machine #202; expectedbehavior/acts_as_archival #37."""
    for _ in range(30):
        create(Parcel(), actor=SYSTEM)

    with django_assert_max_num_queries(12):
        report = fire_many(Parcel.objects.all(), "send", actor=SYSTEM, batch_size=100)

    assert len(report.fired) == 30


@pytest.mark.django_db(transaction=True)
def test_a_lock_waits_for_the_one_before_and_sees_what_it_did() -> None:
    """PrimarySite/django-transitions #5: locking is not left to the caller."""
    ticket = create(Ticket(), actor=SYSTEM)
    started = threading.Event()

    def first() -> Any:
        with transaction.atomic():
            answer = fresh(ticket).lifecycle.fire("ask", actor=SYSTEM)
            started.set()
            return answer

    def second() -> Any:
        assert started.wait(10)
        try:
            return fresh(ticket).lifecycle.fire("ask", actor=SYSTEM)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second)
        first()
        with pytest.raises(WrongState):
            waiting.result(timeout=20)
    assert fresh(ticket).lifecycle_version == 2
