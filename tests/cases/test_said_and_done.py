"""Said and done are the same: success is answered after a commit that happened, and nothing committed is repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import IntegrityError, OperationalError, connection, transaction

from lifecycle import SYSTEM, clock
from lifecycle.exceptions import TransactionBroken
from lifecycle.execution import interference
from lifecycle.execution.drain import drain
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import afire, create, fire, fire_many
from lifecycle.signals import follow_up_refused, state_entered, transition_committed
from lifecycle.store import records, waiting
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.cases.misbehaving import (
    CallbackFailed,
    behaving,
    points_at_nobody,
    raises,
    registers_a_callback_that_fails,
    swallows,
    swallows_by_cursor,
    swallows_in_a_savepoint,
)
from tests.cases.models.folders import Folder, Name
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder() -> Folder:
    return create(Folder(slug="a"), actor=SYSTEM)


def columns(folder: Folder) -> tuple[str, int]:
    row = Folder.objects.get(pk=folder.pk)
    return row.status, row.lifecycle_version


def entries() -> list[str]:
    return list(TransitionLog.objects.order_by("id").values_list("transition", flat=True))


# ---------------------------------------------------------------------------------------------- swallowed errors


@pytest.mark.row("A1")
@pytest.mark.parametrize("behave", [swallows, pytest.param(swallows_by_cursor, marks=pytest.mark.postgres)])
def test_a_hook_that_swallowed_a_database_error_is_an_error_that_says_so(folder: Folder, behave: Any) -> None:
    with behaving("hook", behave), pytest.raises(TransactionBroken, match="The hook 'note_taking' of 'folders.take'"):
        fire(folder, "take", actor=SYSTEM)

    assert (folder.status, folder.lifecycle_version) == columns(folder) == ("shelf", 1)
    assert entries() == ["$create"]
    assert not Run.objects.exists()


@pytest.mark.row("A1")
def test_a_hook_that_fenced_its_database_error_off_is_no_error(folder: Folder) -> None:
    with behaving("hook", swallows_in_a_savepoint):
        fire(folder, "take", actor=SYSTEM)

    assert columns(folder) == ("table", 2)


@pytest.mark.row("A1")
def test_a_hook_of_a_creation_that_swallowed_a_database_error_leaves_no_record() -> None:
    folder = Folder(slug="b")
    with behaving("hook of a creation", swallows), pytest.raises(TransactionBroken):
        create(folder, actor=SYSTEM)

    assert (folder._state.adding, Folder.objects.exists(), entries()) == (True, False, [])


@pytest.mark.row("A1")
def test_one_record_whose_hook_swallowed_a_database_error_keeps_no_other_of_its_batch(folder: Folder) -> None:
    create(Folder(slug="b"), actor=SYSTEM)

    def behave(ctx: Any) -> None:
        if ctx.record.pk == "a":
            swallows(ctx)

    with behaving("hook", behave):
        report = fire_many(Folder.objects.all(), "take", actor=SYSTEM)

    assert [one.record.pk for one in report.fired] == ["b"]
    assert [(one.record_id, type(one.error)) for one in report.refused] == [("a", TransactionBroken)]
    assert columns(folder) == ("shelf", 1)


@pytest.mark.row("A1")
def test_a_follow_up_whose_hook_swallowed_a_database_error_waits_with_its_reason(folder: Folder) -> None:
    fire(folder, "take", actor=SYSTEM)

    with behaving("hook of a follow-up", swallows):
        drain()

    run = Run.objects.get()
    assert (run.status, run.follow_up, columns(folder)) == ("succeeded", "pending", ("table", 2))
    assert "caught a database error" in run.follow_up_error
    with travel(minutes=30):
        tick()
    assert (Run.objects.get().follow_up, columns(folder)) == ("applied", ("filed", 3))


@pytest.mark.row("A1")
def test_a_timeout_whose_hook_swallowed_a_database_error_is_held_with_its_reason(folder: Folder) -> None:
    fire(folder, "take", actor=SYSTEM)
    Run.objects.all().delete()

    with travel(hours=2), behaving("hook of a timeout", swallows):
        tick()

    assert columns(folder) == ("table", 2)
    with travel(hours=4):
        tick()
    assert columns(folder) == ("shelf", 3)


# ---------------------------------------------------------------------------------------------- failing callbacks


def by_fire(folder: Folder) -> None:
    fire(folder, "take", actor=SYSTEM)


def by_fire_many(folder: Folder) -> None:
    fire_many([folder], "take", actor=SYSTEM)


def by_afire(folder: Folder) -> None:
    async_to_sync(afire)(folder, "take", actor=SYSTEM)


@pytest.mark.row("A2")
@pytest.mark.parametrize("verb", [by_fire, by_fire_many, by_afire])
def test_a_committed_firing_is_not_done_again_because_a_callback_failed(
    folder: Folder, verb: Callable[[Folder], None]
) -> None:
    with behaving("hook", registers_a_callback_that_fails), pytest.raises(CallbackFailed):
        verb(folder)

    assert entries() == ["$create", "take"]
    assert Run.objects.count() == 1
    assert (folder.status, folder.lifecycle_version) == columns(folder) == ("table", 2)


@pytest.mark.row("A2")
@pytest.mark.parametrize("request_id", [None, "key"])
def test_a_committed_creation_is_not_done_again_because_a_callback_failed(request_id: str | None) -> None:
    folder = Folder(slug="b")
    with behaving("hook of a creation", registers_a_callback_that_fails), pytest.raises(CallbackFailed):
        create(folder, actor=SYSTEM, request_id=request_id)

    assert entries() == ["$create"]
    assert (folder._state.adding, folder.pk, folder.lifecycle_version) == (False, "b", 1)


@pytest.mark.row("A2")
def test_a_follow_up_is_applied_once_although_a_callback_fails(folder: Folder) -> None:
    fire(folder, "take", actor=SYSTEM)

    with behaving("hook of a follow-up", registers_a_callback_that_fails):
        report = drain()

    run = Run.objects.get()
    assert (report.done, run.status, run.follow_up, columns(folder)) == (1, "succeeded", "applied", ("filed", 3))
    assert entries() == ["$create", "take", "file"]


@pytest.mark.row("A2")
@pytest.mark.parametrize("missing", ["its own record", "another record"])
def test_a_callback_of_an_atomic_effect_that_misses_a_record_is_no_outcome(
    missing: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    drain()
    fire(Parcel.objects.get(pk=parcel.pk), "scan", actor=SYSTEM)
    missed = parcel.pk if missing == "its own record" else create(Parcel(), actor=SYSTEM).pk

    def register(definition: Any, effect: Any, ctx: Any) -> None:
        def miss() -> None:
            raise records.not_found(definition, missed)

        transaction.on_commit(miss)

    monkeypatch.setattr(interference, "before", register)
    report = drain()

    run = Run.objects.get(effect="count_scan")
    assert (report.done, run.status, run.error_kind, run.attempts, run.crashes) == (1, "succeeded", "", 1, 0)
    assert Parcel.objects.get(pk=parcel.pk).scans == 1
    lines = [(line.levelname, line.getMessage()) for line in caplog.records]
    assert [text for level, text in lines if level in ("WARNING", "ERROR")] == [
        f"run {run.pk} (parcels.count_scan of {parcel.pk}) is recorded; a callback after the commit failed."
    ]


@pytest.mark.row("A1")
@pytest.mark.parametrize("verb", [by_fire, by_afire])
def test_a_databases_refusal_reaches_the_caller_with_the_drivers_own_reason(
    folder: Folder, verb: Callable[[Folder], None]
) -> None:
    def refused(ctx: Any) -> None:
        for _ in range(2):
            Name(name="taken").save(using=ctx.using, force_insert=True)

    with behaving("hook", refused), pytest.raises(IntegrityError) as caught:
        verb(folder)

    assert caught.value.__cause__ is not None
    assert caught.value.__cause__ is not caught.value
    assert not waiting.in_vain(caught.value)


@pytest.mark.row("A1")
def test_an_error_that_names_itself_as_its_cause_is_looked_at_once() -> None:
    error = IntegrityError("taken")
    error.__cause__ = error

    assert not waiting.in_vain(error)


@pytest.mark.row("A2")
def test_a_firing_that_was_not_committed_leaves_the_instance_as_it_was(folder: Folder) -> None:
    with behaving("hook", raises), pytest.raises(ValueError, match="a bug"):
        fire(folder, "take", actor=SYSTEM)

    assert (folder.status, folder.lifecycle_version) == columns(folder) == ("shelf", 1)


# ---------------------------------------------------------------------------------------------- announcements


@pytest.fixture
def heard() -> Any:
    told: list[tuple[str, str]] = []

    def listen(signal: Any, transition: str, record: Any, **_: Any) -> None:
        told.append((record.pk, transition))

    for signal in (transition_committed, state_entered):
        signal.connect(listen)
    yield told
    for signal in (transition_committed, state_entered):
        signal.disconnect(listen)


@pytest.mark.row("A7")
def test_what_a_savepoint_of_the_callers_own_took_back_is_not_announced(folder: Folder, heard: Any) -> None:
    other = create(Folder(slug="b"), actor=SYSTEM)
    heard.clear()

    with transaction.atomic():
        savepoint = transaction.savepoint()
        fire(folder, "take", actor=SYSTEM)
        create(Folder(slug="c"), actor=SYSTEM)
        fire_many([Folder.objects.get(pk="b")], "take", actor=SYSTEM)
        transaction.savepoint_rollback(savepoint)
        fire(other, "take", actor=SYSTEM)

    assert heard == [("b", "take"), ("b", "take")]
    assert columns(folder) == ("shelf", 1)


@pytest.mark.row("A7")
def test_to_look_whether_it_stands_costs_one_statement_for_all_of_a_transaction(
    folder: Folder, heard: Any, django_assert_num_queries: Any
) -> None:
    others = [create(Folder(slug=slug), actor=SYSTEM) for slug in "bcd"]
    heard.clear()

    with transaction.atomic():
        for one in (folder, *others):
            fire(one, "take", actor=SYSTEM)
        callbacks, connection.run_on_commit = connection.run_on_commit, []
    with django_assert_num_queries(1):
        for _, callback, _ in callbacks:
            callback()

    assert len(heard) == 8


# ---------------------------------------------------------------------------------------------- lost answers


@contextmanager
def losing_the_answer(beginning: str, nth: int) -> Iterator[list[str]]:
    """The connection breaks after the server has done the nth statement that begins so, before its answer is here."""
    done: list[str] = []

    def send(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if sql.lstrip().startswith(beginning) and "'running', fence" in sql:
            done.append(sql)
            if len(done) == nth:
                if connection.vendor == "sqlite":
                    context["cursor"].fetchall()  # the statement is complete, and committed, once its last row is read
                context["connection"].close()
                raise OperationalError("server closed the connection unexpectedly")
        return answer

    with connection.execute_wrapper(send):
        yield done


@pytest.mark.row("A6")
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("budget", [None, 1, 2])
def test_a_run_whose_claim_was_answered_to_nobody_is_begun_all_the_same_or_given_back(
    nth: int, budget: int | None
) -> None:
    for _ in range(3):
        fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM)
    beginning = "UPDATE" if connection.vendor in ("sqlite", "mysql") else "WITH"

    with losing_the_answer(beginning, nth) as done:
        drain(runs=budget)

    if budget is None:
        assert len(done) >= nth, "the answer was lost"
    runs = list(Run.objects.values_list("status", "crashes", "attempts"))
    assert sorted(runs) == sorted([("succeeded", 0, 1)] * (budget or 3) + [("queued", 0, 0)] * (3 - (budget or 3))), (
        "none is left to the end of its lease"
    )


@pytest.mark.postgres
@pytest.mark.row("A6")
@pytest.mark.parametrize("dying", ["always", "once"])
def test_a_run_whose_connection_died_between_its_claim_and_its_code_is_charged_nothing(dying: str) -> None:
    """The tick between two runs took its time; or the record cannot be read at all."""
    for _ in range(2):
        fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM)
    asked = []

    def unreadable(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if 'FROM "support_parcel"' in sql and "UPDATE" not in sql:
            asked.append(sql)
            if len(asked) > 1 and (dying == "always" or len(asked) == 2):
                context["connection"].connection.close()  # as if the server had ended it
        return execute(sql, params, many, context)

    with connection.execute_wrapper(unreadable):
        assert drain().done == 2

    runs = list(Run.objects.order_by("id").values_list("status", "crashes", "attempts"))
    after = ("succeeded", 0, 1) if dying == "once" else ("queued", 0, 0)
    assert runs == [("succeeded", 0, 1), after]
    assert Run.objects.latest("id").available_at > clock.now() or dying == "once", "not at once again"


@pytest.mark.postgres
@pytest.mark.row("A6")
def test_an_atomic_effect_whose_connection_died_before_its_code_is_charged_nothing() -> None:
    parcel = create(Parcel(status="packed"), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    drain()
    fire(parcel, "scan", actor=SYSTEM)
    asked = []

    def dying(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if 'FROM "support_parcel"' in sql and "FOR UPDATE" in sql:
            asked.append(sql)
            if len(asked) == 1:
                context["connection"].connection.close()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(dying):
        assert drain().done == 1

    run = Run.objects.latest("id")
    parcel.refresh_from_db()
    assert (run.status, run.attempts, run.crashes, parcel.scans) == ("succeeded", 1, 0, 1)


# ---------------------------------------------------------------------------------------------- seen at the commit


@pytest.mark.row("A4")
def test_a_follow_up_that_cannot_be_committed_waits_with_its_reason_and_longer_each_time(folder: Folder) -> None:
    calls: list[int] = []
    told: list[Any] = []

    def heard(sender: Any, *, error: BaseException, reason: str, **facts: Any) -> None:
        told.append((type(error), reason))

    follow_up_refused.connect(heard)
    try:
        with behaving("effect", lambda ctx: calls.append(1)), behaving("hook of a follow-up", points_at_nobody):
            fire(folder, "take", actor=SYSTEM)
            drain()
            pauses = [_pause_and_reason()]
            for seconds in (61, 200, 500):
                with travel(seconds=seconds):
                    tick(force=True)
                    pauses.append(_pause_and_reason())
    finally:
        follow_up_refused.disconnect(heard)

    assert calls == [1], "an effect that returned is not called again"
    assert columns(folder) == ("table", 2)
    assert [reason for _, reason in pauses] == [pauses[0][1]] * 4
    assert "foreign key" in pauses[0][1].lower()
    waits = [round(seconds) for seconds, _ in pauses]
    assert waits == sorted(waits)
    assert waits[0] == 60
    assert waits[-1] > 120
    assert told == [(IntegrityError, pauses[0][1])] * 4

    with travel(minutes=25):
        tick(force=True)
    assert columns(folder) == ("filed", 3)


def _pause_and_reason() -> tuple[float, str]:
    run = Run.objects.get()
    assert (run.status, run.follow_up) == ("succeeded", "pending")
    assert run.follow_up_due_at is not None
    return (run.follow_up_due_at - clock.now()).total_seconds(), run.follow_up_error
