"""A drain: what it does between runs, when it ends, and how it lives through a lost connection."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction

from lifecycle import SYSTEM, clock, signals
from lifecycle.exceptions import LeaseLost
from lifecycle.execution import attempts, connecting, watermark
from lifecycle.execution.drain import drain
from lifecycle.execution.effects import EffectWork
from lifecycle.execution.watermark import Watermark
from lifecycle.execution.worker_ids import worker_id
from lifecycle.models import Run
from lifecycle.runtime import create, fire
from lifecycle.store import claims
from lifecycle.testing import race
from tests.execution.rows import USING, an_entry, claim, facts, queue_run, queue_runs
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for a lost database end at once."""
    monkeypatch.setattr(connecting, "_LONGEST", 0.0)


def returned() -> Parcel:
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "take_back", actor=SYSTEM)
    return record


def test_a_drain_of_an_empty_queue_does_nothing() -> None:
    report = drain()

    assert (report.done, report.more) == (0, False)


def test_only_the_named_queue_is_drained() -> None:
    slow = queue_run(queue="slow")

    assert drain("default").done == 0
    assert drain("slow").done == 1

    slow.refresh_from_db()
    assert slow.error_kind == "record_gone"


def test_a_drain_told_to_stop_ends_after_the_current_run_and_says_that_more_is_due(behave: dict[str, Any]) -> None:
    """django-tasks-db #61: a signal in the middle of a claim; here it is a flag, asked between runs."""
    for _ in range(3):
        returned()
    stopping: list[bool] = []
    behave["refund_postage"] = lambda ctx: stopping.append(True)

    report = drain(stop=lambda: bool(stopping))

    assert (report.done, report.more) == (1, True)
    assert sorted(Run.objects.values_list("status", flat=True)) == ["queued", "queued", "succeeded"]


def test_a_run_claimed_when_the_stop_comes_is_given_back_unstarted(behave: dict[str, Any]) -> None:
    first, second = returned(), returned()
    stopping: list[bool] = []

    report = drain(stop=lambda: bool(stopping), between=lambda: stopping.append(True))

    assert (report.done, report.more) == (1, True)
    run = Run.objects.get(record_id=str(second.pk))
    assert (run.status, run.attempts, run.crashes, run.lease_until) == ("queued", 0, 0, None)
    assert Run.objects.get(record_id=str(first.pk)).status == "succeeded"


def test_a_spent_budget_of_time_starts_nothing() -> None:
    queue_run()

    report = drain(seconds=0)

    assert (report.done, report.more) == (0, True)


def test_between_is_called_before_every_run_but_the_first_and_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        returned()
    calls = []

    def between() -> None:
        calls.append(Run.objects.filter(status="succeeded").count())
        raise ZeroDivisionError

    assert drain(between=between).done == 3

    assert calls == [1, 2]
    assert "between runs failed" in caplog.text


def test_a_run_that_was_taken_meanwhile_does_not_end_the_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        returned()
    perform = attempts.perform
    performed = []

    def lose_the_first(held: Any, *rest: Any) -> Any:
        performed.append(held)
        if len(performed) == 1:
            raise LeaseLost("lost", run_id=held.id)
        return perform(held, *rest)

    monkeypatch.setattr(attempts, "perform", lose_the_first)

    assert drain().done == 2


def test_a_failure_of_the_executor_itself_leaves_the_run_to_its_lease_and_the_drain_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        returned()
    perform = attempts.perform
    performed = []

    def break_the_first(held: Any, *rest: Any) -> Any:
        performed.append(held)
        if len(performed) == 1:
            raise RuntimeError("a bug of ours")
        return perform(held, *rest)

    monkeypatch.setattr(attempts, "perform", break_the_first)

    assert drain().done == 2

    assert sorted(Run.objects.values_list("status", flat=True)) == ["running", "succeeded"]
    assert "could not be reported" in caplog.text


def test_a_finished_run_is_announced_with_its_row_and_a_failing_receiver_disturbs_nobody(
    django_capture_on_commit_callbacks: Any,
) -> None:
    parcel = returned()
    heard = []

    def listen(sender: Any, **facts: Any) -> None:
        heard.append((sender, facts["run"].status, facts["lifecycle"], facts["record_id"]))
        raise ZeroDivisionError

    signals.run_finished.connect(listen)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            drain()
    finally:
        signals.run_finished.disconnect(listen)

    assert heard == [(Parcel, "succeeded", "parcels", str(parcel.pk))]


def test_a_worker_is_named_by_host_process_and_chance() -> None:
    host, process, chance = worker_id().rsplit(":", 2)

    assert host
    assert int(process) == os.getpid()
    assert len(chance) == 8
    assert worker_id() == worker_id()


def test_a_watermark_moves_with_the_claims_and_is_dropped_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    queue_run()
    held, mark = claim(), Watermark()
    assert mark.value() is None

    mark.seen(held)
    assert mark.value() == held.available_at
    now[0] += watermark.WATERMARK_SECONDS
    assert mark.value() is None


def test_a_run_that_was_committed_late_with_an_early_due_time_is_found_by_the_same_drain(
    behave: dict[str, Any],
) -> None:
    """P22: the watermark must not become a cursor."""
    for _ in range(2):
        returned()
    late = []

    def effect(ctx: Any) -> None:
        if not late:
            run = Run.objects.filter(status="queued").latest("id")
            late.append(queue_run(an_entry(ctx.run.record_id), available_at=run.created_at.replace(year=2020)))

    behave["refund_postage"] = effect

    assert drain().done == 3

    late[0].refresh_from_db()
    assert late[0].status == "succeeded"


# Real connections -------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_two_drains_at_once_do_every_run_once(behave: dict[str, Any]) -> None:
    parcels = [returned() for _ in range(20)]
    done: list[str] = []
    behave["refund_postage"] = lambda ctx: done.append(str(ctx.record.pk))

    finishes = race(drain, drain)

    assert sum(finish.get().done for finish in finishes) == 20
    assert sorted(done) == sorted(str(parcel.pk) for parcel in parcels)
    assert set(Run.objects.values_list("status", "attempts", "fence")) == {("succeeded", 1, 1)}


@pytest.mark.django_db(transaction=True)
def test_two_processes_do_every_run_once() -> None:
    """dbos-py #541, PR #564: on SQLite too."""
    entries = [returned() for _ in range(20)]
    code = (
        "import sys, django; django.setup()\n"
        "from django.db import connections\n"
        "connections['default'].settings_dict['NAME'] = sys.argv[1]\n"
        "from lifecycle.execution.drain import drain\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(drain(seconds=20).done, flush=True)\n"
    )
    name = str(connection.settings_dict["NAME"])
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        )
        for _ in range(2)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    done = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        out, _ = worker.communicate(timeout=60)
        assert worker.returncode == 0
        done.append(int(out))

    assert sum(done) == len(entries)
    assert set(Run.objects.values_list("status", "attempts", "crashes", "fence")) == {("succeeded", 1, 0, 1)}


@pytest.mark.django_db(transaction=True)
def test_a_drain_lives_through_a_claim_that_meets_a_dead_database(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """paperless-ngx PR #12977, celery/celery #8030: the worker outlives the database's restart."""
    returned()
    store = type(claims.for_alias(USING))
    take = store.claim
    failures = []

    def claim_after_two_failures(self: Any, wanted: Any) -> Any:
        if len(failures) < 2:
            failures.append(1)
            raise OperationalError("server closed the connection unexpectedly")
        return take(self, wanted)

    monkeypatch.setattr(store, "claim", claim_after_two_failures)

    assert drain().done == 1

    assert Run.objects.get().status == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_a_drain_whose_database_stays_away_ends_with_its_budget(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """DBOS, read in its source: no wait is without an end."""
    store = type(claims.for_alias(USING))

    def no_answer(self: Any, *args: Any) -> Any:
        raise OperationalError("no answer")

    monkeypatch.setattr(store, "claim", no_answer)
    monkeypatch.setattr(store, "due", no_answer)
    asked = iter([False] * 5)

    report = drain(stop=lambda: next(asked, True))

    assert (report.done, report.more) == (0, True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_an_outcome_survives_the_death_of_its_connection(behave: dict[str, Any], quick: None) -> None:
    """P17: the effect returned; what it returned is recorded on another connection, the effect is not called again."""
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    calls = []

    def effect(ctx: Any) -> dict[str, Any]:
        calls.append(1)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            [pid] = cursor.fetchone()
        other = connections.create_connection("default")
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
        finally:
            other.close()
        return {"label": "L"}

    behave["print_label"] = effect

    assert drain().done == 1

    parcel.refresh_from_db()
    assert (len(calls), parcel.status, Run.objects.get().attempts) == (1, "sent", 1)


@pytest.mark.django_db(transaction=True)
def test_a_failure_keeps_its_text_when_the_connection_dies_under_its_record(
    behave: dict[str, Any], quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifecycle.store import outcomes

    returned()
    fail = outcomes.fail
    calls = []

    def effect(ctx: Any) -> None:
        raise ValueError("the text that counts")

    def die_once(*args: Any, **options: Any) -> bool:
        calls.append(1)
        if len(calls) == 1:
            connection.close()
            raise OperationalError("the connection was lost")
        return fail(*args, **options)

    behave["refund_postage"] = effect
    monkeypatch.setattr(outcomes, "fail", die_once)

    assert drain().done == 1

    assert Run.objects.get().error == "ValueError: the text that counts"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("commits", [True, False])
def test_a_finish_whose_answer_is_lost_is_looked_up_not_guessed(
    commits: bool, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    returned()
    store = type(claims.for_alias(USING))
    finish = store.finish_and_claim
    calls = []

    def lose_the_answer(self: Any, *args: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            if commits:
                finish(self, *args)
            raise OperationalError("the connection was lost")
        return finish(self, *args)

    monkeypatch.setattr(store, "finish_and_claim", lose_the_answer)

    assert drain().done == 1

    run = Run.objects.get()
    assert (run.status, run.attempts, run.crashes) == ("succeeded", 1, 0)
    assert len(calls) == (1 if commits else 2)


@pytest.mark.django_db(transaction=True)
def test_an_atomic_effect_whose_commit_was_lost_is_failed_and_its_writes_are_gone(
    quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:

    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    drain()
    fire(parcel, "scan", actor=SYSTEM)

    def lost(*args: Any) -> None:
        raise OperationalError("the connection was lost")

    monkeypatch.setattr(EffectWork, "succeeded_atomically", lost)

    drain()

    parcel.refresh_from_db()
    run = Run.objects.latest("id")
    assert (parcel.scans, run.status, run.attempts) == (0, "failed", 1)


@pytest.mark.django_db(transaction=True)
def test_an_effect_is_called_outside_any_transaction_and_an_atomic_one_inside(behave: dict[str, Any]) -> None:
    from lifecycle.execution import interference

    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    seen = {}
    interference.before = lambda definition, effect, ctx: seen.update({effect.name: connection.in_atomic_block})
    try:
        drain()
        fire(parcel, "scan", actor=SYSTEM)
        drain()
    finally:
        interference.before = None

    assert seen == {"print_label": False, "count_scan": True}


@pytest.mark.django_db(transaction=True)
def test_a_drain_inside_a_transaction_works_and_is_undone_with_it() -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    before = facts(Run.objects.get())

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert drain().done == 1
        assert Parcel.objects.get().status == "sent"
        raise ZeroDivisionError

    assert facts(Run.objects.get()) == before


@pytest.mark.django_db(transaction=True)
def test_an_effect_that_leaves_its_connection_in_another_mode_does_not_hurt_the_next_run(
    behave: dict[str, Any],
) -> None:
    for _ in range(2):
        returned()
    behave["refund_postage"] = lambda ctx: transaction.set_autocommit(False)

    assert drain().done == 2

    assert transaction.get_autocommit()
    assert set(Run.objects.values_list("status", flat=True)) == {"succeeded"}


def test_runs_of_one_moment_are_done_in_their_order(behave: dict[str, Any]) -> None:
    parcel = returned()
    moment = clock.now()
    Run.objects.update(available_at=moment)
    runs = queue_runs(3, an_entry(str(parcel.pk)), available_at=moment)
    order: list[int] = []
    behave["refund_postage"] = lambda ctx: order.append(ctx.run_id)

    drain()

    assert order == [Run.objects.earliest("id").pk, *(run.pk for run in runs)]
