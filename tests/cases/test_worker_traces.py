"""A worker's run leaves no trace: what an effect leaves behind is put back or thrown away; its end is reported."""

from __future__ import annotations

import logging
import os
import signal
from contextlib import suppress
from typing import Any

import pytest
from django.db import ProgrammingError, connection, connections, transaction
from django.utils import timezone, translation

from lifecycle import SYSTEM, clock
from lifecycle.execution import connecting
from lifecycle.execution.drain import drain
from lifecycle.models import Run, RunAttempt
from lifecycle.runtime import create, fire
from lifecycle.signals import attempt_failed
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.cases.misbehaving import behaving
from tests.cases.models.folders import Folder, Name
from tests.cases.models.worker_traces import Errand, Reference

pytestmark = pytest.mark.django_db(transaction=True)


def errand(*transitions: str) -> Run:
    record = create(Errand(), actor=SYSTEM)
    for name in ("go", *transitions):
        fire(record, name, actor=SYSTEM)
    found: Run = Run.objects.latest("id")
    Run.objects.exclude(pk=found.pk).delete()
    return found


def performed(run: Run, behave: Any, **options: Any) -> Run:
    with behaving("errand", behave):
        drain(**{"runs": 1, **options})
    run.refresh_from_db()
    return run


# ---------------------------------------------------------------------------------------------- transactions


def enters_atomic(ctx: Any) -> None:
    transaction.atomic().__enter__()
    Name.objects.create(name="lost")


def begins(ctx: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO cases_name (name) VALUES ('lost')")


@pytest.mark.row("G4")
@pytest.mark.parametrize("leaves", [enters_atomic, begins])
def test_an_effect_that_leaves_a_transaction_open_fails_alone(leaves: Any) -> None:
    bad, good = errand("alone"), create(Folder(slug="a"), actor=SYSTEM)
    fire(good, "take", actor=SYSTEM)

    with behaving("errand", leaves):
        report = drain()

    bad.refresh_from_db()
    assert report.done == 2
    assert bad.status == "failed"
    assert "left a transaction open on default" in bad.error
    assert Folder.objects.get().status == "filed"
    assert not Name.objects.exists()
    assert not connection.in_atomic_block


@pytest.mark.row("G4")
def test_an_atomic_effect_that_leaves_a_block_open_takes_all_of_it_back() -> None:
    run = performed(errand("again"), enters_atomic)

    assert (run.status, run.attempts) == ("queued", 1)
    assert "left a transaction open" in run.error
    assert not Name.objects.exists()


# ---------------------------------------------------------------------------------------------- time zone, language


@pytest.mark.row("G5")
def test_an_effect_that_activates_a_time_zone_or_a_language_leaves_neither(settings: Any) -> None:
    def activates(ctx: Any) -> None:
        timezone.activate("Asia/Tokyo")
        translation.activate("de")

    before = (timezone.get_current_timezone_name(), translation.get_language())
    run = performed(errand(), activates)

    assert run.status == "succeeded"
    assert (timezone.get_current_timezone_name(), translation.get_language()) == before


@pytest.mark.row("G5")
def test_a_sweep_works_in_the_projects_time_zone_whatever_was_activated_before() -> None:
    seen = []
    errand()
    folder = create(Folder(slug="a"), actor=SYSTEM)
    fire(folder, "take", actor=SYSTEM)

    with (
        timezone.override("Asia/Tokyo"),
        travel(hours=2),
        behaving("guard", lambda ctx: seen.append(timezone.get_current_timezone_name())),
    ):
        tick(force=True)
        assert timezone.get_current_timezone_name() == "Asia/Tokyo"

    assert seen == ["UTC"]


# ---------------------------------------------------------------------------------------------- sessions


def changes_session(ctx: Any) -> None:
    statement = {
        "postgresql": "SET search_path TO nowhere",
        "mysql": "SET SESSION sql_mode = 'ANSI_QUOTES'",
        "sqlite": "PRAGMA query_only = 1",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.row("M3")
def test_a_session_that_an_effect_changed_is_gone_before_the_next_statement() -> None:
    run = performed(errand(), changes_session)

    assert (run.status, run.follow_up, Errand.objects.get().status) == ("succeeded", "applied", "done")


@pytest.mark.row("M3", "G7")
@pytest.mark.postgres
@pytest.mark.parametrize("setting", ["search_path = nowhere", "default_transaction_read_only = on"])
def test_a_session_that_is_no_good_is_thrown_away_by_the_workers_own_statements(setting: str) -> None:
    """As after a failover, or changed past Django."""
    run = errand()

    def behind_our_back(ctx: Any) -> None:
        connection.connection.execute(f"SET {setting}")

    run = performed(run, behind_our_back)
    assert (run.status, run.follow_up) == ("succeeded", "applied")

    connection.ensure_connection()
    connection.connection.execute(f"SET {setting}")
    fresh = errand_on_another_connection()
    with suppress(ProgrammingError):  # said once; the next round has another session
        drain(seconds=10)
    drain(seconds=10)
    fresh.refresh_from_db()
    assert fresh.status == "succeeded"


def errand_on_another_connection() -> Run:
    import threading

    made: list[Run] = []

    def make() -> None:
        record = create(Errand(), actor=SYSTEM)
        fire(record, "go", actor=SYSTEM)
        made.append(Run.objects.latest("id"))
        connection.close()

    thread = threading.Thread(target=make)
    thread.start()
    thread.join(10)
    return made[0]


# ---------------------------------------------------------------------------------------------- exits, signals, forks


@pytest.mark.row("G6")
def test_an_effect_that_calls_exit_fails_with_its_text_and_the_worker_goes_on() -> None:
    def exits(ctx: Any) -> None:
        raise SystemExit("no paper")

    run = performed(errand("alone"), exits)

    assert (run.status, run.crashes, run.attempts) == ("failed", 0, 1)
    assert "SystemExit: no paper" in run.error


@pytest.mark.row("G6")
def test_an_exit_of_a_process_that_was_told_to_end_gives_the_run_back() -> None:
    run = errand("alone")
    told: list[bool] = []

    def exits(ctx: Any) -> None:
        told.append(True)
        raise SystemExit(0)

    with behaving("errand", exits), pytest.raises(SystemExit):
        drain(stop=lambda: bool(told))

    run.refresh_from_db()
    assert run.status == "queued"


@pytest.mark.row("G6")
def test_an_exit_out_of_a_signal_handler_is_the_processs() -> None:
    def handler(number: int, frame: Any) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        run = errand("alone")
        with behaving("errand", lambda ctx: os.kill(os.getpid(), signal.SIGTERM)), pytest.raises(SystemExit):
            drain()
    finally:
        signal.signal(signal.SIGTERM, before)
    run.refresh_from_db()
    assert run.status == "queued"


@pytest.mark.row("M9")
def test_an_effect_that_ignores_signals_makes_no_deaf_worker() -> None:
    before = signal.getsignal(signal.SIGTERM)

    performed(errand(), lambda ctx: signal.signal(signal.SIGTERM, signal.SIG_IGN) and None)

    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.row("M8")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_an_effect_forked_and_that_came_back_ends() -> None:
    pids: list[int] = []
    parent = os.getpid()

    def forks(ctx: Any) -> None:
        pid = os.fork()
        if pid:
            pids.append(os.waitpid(pid, 0)[1])

    run = performed(errand(), forks)

    assert os.getpid() == parent, "a second worker came back"
    assert (run.status, pids) == ("succeeded", [0])


# ---------------------------------------------------------------------------------------------- results, Celery's words


@pytest.mark.row("A5")
@pytest.mark.parametrize(
    ("result", "path"), [({"a": [1, object()]}, r"$.a[1]"), ({"text": "x" * 70_000}, "bytes of JSON"), ({1: 2}, "$")]
)
def test_an_effect_that_returned_is_not_called_again_whatever_it_returned(result: Any, path: str) -> None:
    called = []

    def returns(ctx: Any) -> Any:
        called.append(ctx.attempt)
        return result

    run = performed(errand(), returns)

    assert (run.status, run.error_kind, called) == ("failed", "invalid_result", [1])
    assert path in run.error


@pytest.mark.row("G10", "M5")
@pytest.mark.parametrize(
    ("name", "arguments", "status", "attempts"),
    [
        ("Retry", {"when": 30}, "queued", 1),
        ("Ignore", {}, "failed", 1),
        ("Reject", {}, "failed", 1),
        ("SoftTimeLimitExceeded", {}, "queued", 0),
    ],
)
def test_celerys_control_flow_means_to_a_run_what_it_can_mean(
    name: str, arguments: Any, status: str, attempts: int
) -> None:
    from celery import exceptions

    def raises(ctx: Any) -> None:
        raise getattr(exceptions, name)(**arguments)

    run = performed(errand(), raises)

    assert (run.status, run.attempts, run.crashes) == (status, attempts, 0)
    if name == "Retry":
        assert 25 < (run.available_at - clock.now()).total_seconds() < 31
    if status == "failed":
        assert f"Celery's {name} means nothing to an effect" in run.error


@pytest.mark.row("M5")
@pytest.mark.once
def test_our_tasks_carry_time_limits_of_their_own(settings: Any) -> None:
    from celery import Celery

    from lifecycle import tasks

    app = Celery("limits", set_as_current=False)
    app.conf.update(task_soft_time_limit=5, task_time_limit=6)
    for task in (tasks.drain, tasks.tick):
        assert task.soft_time_limit > 10**6
        assert task.time_limit > 10**6


# ---------------------------------------------------------------------------------------------- deferred constraints


@pytest.mark.row("A4")
@pytest.mark.skipif("connection.vendor == 'mysql'", reason="MySQL knows no deferred constraints")
def test_a_follow_up_that_fails_at_the_commit_is_postponed_with_its_reason() -> None:
    run = errand()

    with behaving("hook of finish", lambda ctx: Reference.objects.create(name_id=987654)):
        run = performed(run, lambda ctx: {"carrier": "DHL"})
        assert (run.status, run.result, run.follow_up) == ("succeeded", {"carrier": "DHL"}, "pending")
        assert "IntegrityError" in run.follow_up_error
        first = run.follow_up_due_at
        assert first > clock.now()
        with travel(hours=1):
            report = tick(force=True)
            run.refresh_from_db()
            assert report.failures == []
            assert (run.follow_up, run.attempts) == ("pending", 1)
            assert run.follow_up_due_at > clock.now()
    with travel(hours=3):
        tick(force=True)
    run.refresh_from_db()
    assert (run.follow_up, Errand.objects.get().status) == ("applied", "done")


# ---------------------------------------------------------------------------------------------- several databases


@pytest.mark.row("B2")
def test_a_drain_shares_its_budget_among_the_databases(other: str) -> None:
    for using, number in (("default", 30), (other, 1)):
        for place in range(number):
            fire(create(Folder(slug=f"{place}"), actor=SYSTEM, using=using), "take", actor=SYSTEM)

    for _ in range(2):
        drain(runs=12)

    assert not Run.objects.using(other).filter(status="queued").exists()
    assert Run.objects.filter(status="queued").count() == 30 + 1 - 24


@pytest.mark.row("B2")
def test_a_database_that_does_not_answer_keeps_no_other_waiting(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM, using=other)
    fire(folder, "take", actor=SYSTEM)
    waited: list[int] = []
    monkeypatch.setattr(connecting, "pause", lambda failures, stop: waited.append(failures))
    broken = {**connection.settings_dict, "HOST": "127.0.0.1", "PORT": "1", "NAME": "/nowhere/at/all"}

    connection.close()
    monkeypatch.setattr(connections["default"], "settings_dict", broken)
    try:
        for _ in range(2):  # each is first once
            drain(seconds=0.5, runs=1)
            if not waited:
                continue
    finally:
        connections["default"].close()
        monkeypatch.undo()

    assert Folder.objects.using(other).get().status == "filed"


# ---------------------------------------------------------------------------------------------- what is said


@pytest.mark.row("M14")
def test_each_failed_attempt_has_one_line_and_the_last_one_its_frames(caplog: pytest.LogCaptureFixture) -> None:
    run = errand()
    heard: list[tuple[type, bool]] = []

    def listen(sender: Any, error: BaseException, again: bool, **_: Any) -> None:
        heard.append((type(error), again))

    def fails(ctx: Any) -> None:
        raise ZeroDivisionError("no paper")

    attempt_failed.connect(listen)
    try:
        with caplog.at_level(logging.WARNING, "lifecycle"):
            for hours in range(3):
                with travel(hours=hours):
                    performed(run, fails)
    finally:
        attempt_failed.disconnect(listen)

    lines = [(line.levelname, bool(line.exc_info)) for line in caplog.records if "no paper" in line.getMessage()]
    assert lines == [("WARNING", False), ("WARNING", False), ("ERROR", True)]
    assert heard == [(ZeroDivisionError, True), (ZeroDivisionError, True), (ZeroDivisionError, False)]
    assert RunAttempt.objects.count() == 3


# ---------------------------------------------------------------------------------------------- eager Celery


@pytest.mark.row("M4")
@pytest.mark.once
def test_celery_in_its_eager_mode_is_reported(settings: Any) -> None:
    from celery import current_app

    from lifecycle.checks.configuration import CELERY, celery_has_workers

    settings.LIFECYCLE = {"DISPATCHER": CELERY}
    before = current_app.conf.task_always_eager
    current_app.conf.task_always_eager = True
    try:
        (found,) = celery_has_workers(None)
    finally:
        current_app.conf.task_always_eager = before

    assert found.id == "lifecycle.W131"
    assert "run_due()" in str(found.hint)
    assert celery_has_workers(None) == []
