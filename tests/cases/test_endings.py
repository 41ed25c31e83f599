"""How a run ends: by an exit, in a forked child, with a result that cannot be kept, with a word of Celery's."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from lifecycle import clock
from lifecycle.execution import follow_ups
from lifecycle.execution.drain import drain
from lifecycle.models import RunAttempt
from lifecycle.signals import attempt_failed
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.cases.errands import errand, folders, performed, runs
from tests.cases.misbehaving import behaving
from tests.cases.models.errands import Errand, Reference

pytestmark = pytest.mark.django_db(transaction=True)


# ---------------------------------------------------------------------------------------------- exits and forks


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


@pytest.mark.row("G6")
def test_an_exit_inside_a_follow_ups_hook_makes_it_wait() -> None:
    folders(1)

    with behaving("hook of a follow-up", lambda ctx: sys.exit(3)):
        drain()
        assert follow_ups.apply(runs()[0].pk, "default").status == "pending"

    assert (runs()[0].status, runs()[0].follow_up) == ("succeeded", "pending")
    assert "SystemExit" in runs()[0].follow_up_error


@pytest.mark.row("G6")
def test_an_exit_in_a_guard_of_a_timeout_ends_no_tick() -> None:
    folders(1)
    with behaving("effect", lambda ctx: None), behaving("hook of a follow-up", lambda ctx: sys.exit(1)):
        drain()

    with travel(hours=2), behaving("guard", lambda ctx: sys.exit("from a guard")):
        report = tick(force=True)

    assert any("from a guard" in failure for failure in report.failures)


@pytest.mark.row("M8")
@pytest.mark.parametrize(("leaves", "status"), [("returns", 0), ("exits", 7), ("fails", 1)])
def test_a_child_that_an_effect_forked_ends_where_the_effect_does(leaves: str, status: int) -> None:
    if connection.vendor == "sqlite":
        connection.close()
    ends: list[int] = []

    def forks(ctx: Any) -> None:
        child = os.fork()
        if child:
            ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        elif leaves == "exits":
            sys.exit(7)
        elif leaves == "fails":
            raise ValueError("in the child")

    folders(1)
    with behaving("effect", forks):
        assert drain().done == 1

    assert ends == [status]
    assert runs()[0].status == "succeeded"


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


# ------------------------------------------------------------------------------------------ what is said, what waits


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


@pytest.mark.row("M9")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_goodbye_that_cannot_be_said_is_no_error(form: str) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    before = sys.stdout
    try:
        call_command("lifecycle_worker", once=True, format=form, stdout=Closed())
    finally:
        sys.stdout = before
