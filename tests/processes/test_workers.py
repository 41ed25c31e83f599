"""Workers as they are deployed: woken, killed, told to stop, and without a broker."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from django.db import connection

from lifecycle import SYSTEM, dispatch
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.models import Run, RunAttempt, RunStatus
from lifecycle.runtime import create, fire
from tests.processes.children import Child, Stage
from tests.support.models import Parcel

pytestmark = pytest.mark.processes


def send(count: int = 1) -> list[Parcel]:
    parcels = [create(Parcel(), actor=SYSTEM) for _ in range(count)]
    for parcel in parcels:
        fire(parcel, "send", actor=SYSTEM)
    return parcels


def all_sent(count: int) -> bool:
    return Parcel.objects.filter(status=Parcel.Status.SENT).count() == count


def nothing_is_left_over() -> bool:
    return not Run.objects.exclude(status=RunStatus.SUCCEEDED).exists()


def is_ready(child: Child) -> bool:
    return "ready." in child.output


def test_a_commit_wakes_a_celery_worker_and_its_parent_never_opens_the_database(online: Stage) -> None:
    """celery/celery PR #9953, #10020, django-tasks-scheduler #393: connections shared over a fork."""
    worker = online.celery_worker()
    online.wait_until("the worker", lambda: is_ready(worker))
    [parcel] = send()
    online.wait_until("the label", lambda: all_sent(1))
    parcel.refresh_from_db()
    assert parcel.label == "L-1"
    [started] = online.journal("start")
    assert started.pid != worker.pid
    if connection.vendor == "sqlite" and Path("/proc").exists():
        name = os.path.realpath(connection.settings_dict["NAME"])
        opened = [os.path.realpath(fd) for fd in Path(f"/proc/{worker.pid}/fd").iterdir()]
        assert not [path for path in opened if path.startswith(name)]


def test_work_whose_wake_up_was_lost_is_found_by_the_workers_own_tick(online: Stage) -> None:
    with dispatch.replaced(RecordingDispatcher()) as lost:
        send(3)
    assert lost.published == ["default"] * 3
    online.celery_worker()
    online.wait_until("three labels", lambda: all_sent(3))
    assert nothing_is_left_over()


def test_two_runs_behind_one_wake_up_keep_two_children_busy(online: Stage) -> None:
    worker = online.celery_worker(LIFECYCLE_PROCESS_CELERY_TICK="0")
    online.wait_until("the worker", lambda: is_ready(worker))
    online.hold_effects()
    with dispatch.replaced(RecordingDispatcher()):
        send(2)
    dispatch.publish("default")
    online.wait_until("both starts", lambda: len(online.journal("start")) == 2, seconds=6)
    assert len({line.pid for line in online.journal("start")}) == 2
    online.let_go()
    online.wait_until("both labels", lambda: all_sent(2))


def test_kill_9_of_a_worker_in_the_middle_of_an_effect_repeats_it_under_the_same_key(online: Stage) -> None:
    """celery/celery #3541, #1628, django-logic PR #82: no setting is needed for it."""
    online.hold_effects()
    worker = online.celery_worker()
    [parcel] = send()
    online.wait_until("the start", lambda: online.journal("start"))
    online.kill(worker)
    online.let_go()
    assert Run.objects.get().status == RunStatus.RUNNING

    online.celery_worker()
    online.wait_until("the label", lambda: all_sent(1))

    first, second = online.journal("start")
    assert (first.key, first.attempt) == (second.key, 1)
    assert second.attempt == 2
    assert len(online.journal("end")) == 1
    run = Run.objects.get()
    assert (run.status, run.crashes, run.attempts, run.lease_until) == (RunStatus.SUCCEEDED, 1, 1, None)
    assert [attempt.ending for attempt in RunAttempt.objects.all()] == ["crashed"]
    parcel.refresh_from_db()
    assert parcel.label == "L-2"


def test_kill_9_of_one_pool_process_is_mended_by_the_worker_that_lost_it(online: Stage) -> None:
    online.hold_effects()
    online.celery_worker()
    send(2)
    online.wait_until("the starts", lambda: len(online.journal("start")) == 2)
    victim = online.journal("start")[0]
    os.kill(victim.pid, signal.SIGKILL)
    online.let_go()
    online.wait_until("both labels", lambda: all_sent(2))
    assert nothing_is_left_over()
    again = [line for line in online.journal("start") if line.record_id == victim.record_id]
    assert [line.attempt for line in again] == [1, 2]
    assert len({line.key for line in again}) == 1


@pytest.mark.row("G2", "G8")
def test_a_worker_that_stood_still_for_longer_than_its_lease_changes_nothing_when_it_goes_on(offline: Stage) -> None:
    offline.hold_effects()
    first = offline.lifecycle_worker()
    [parcel] = send()
    offline.wait_until("the start", lambda: offline.journal("start"))
    os.kill(first.pid, signal.SIGSTOP)
    offline.lifecycle_worker()
    offline.wait_until("another start", lambda: len(offline.journal("start")) == 2)
    os.kill(first.pid, signal.SIGCONT)
    offline.let_go()
    offline.wait_until("both ends", lambda: len(offline.journal("end")) == 2)
    offline.wait_until("the label", lambda: all_sent(1))

    run = Run.objects.get()
    assert (run.status, run.crashes, run.attempts, run.fence) == (RunStatus.SUCCEEDED, 1, 1, 3)
    parcel.refresh_from_db()
    assert parcel.label == "L-2"


@pytest.mark.parametrize("kind", ["celery", "lifecycle_worker"])
def test_sigterm_finishes_the_run_under_way_and_starts_no_other(online: Stage, kind: str) -> None:
    online.hold_effects()
    worker = online.celery_worker(concurrency=1) if kind == "celery" else online.lifecycle_worker()
    parcels = send(3)
    [started] = online.wait_until("the start", lambda: online.journal("start"))
    worker.terminate()
    heard = "Warm shutdown" if kind == "celery" else ""
    online.wait_until("the signal to be heard", lambda: heard in worker.output)
    online.let_go()
    assert online.wait_for_end(worker) == 0
    assert [line.record_id for line in online.journal("end")] == [started.record_id]
    assert len(online.journal("start")) == 1
    waiting = Run.objects.exclude(record_id=started.record_id)
    assert [(run.status, run.attempts, run.crashes, run.lease_until) for run in waiting] == [
        (RunStatus.QUEUED, 0, 0, None)
    ] * (len(parcels) - 1)
    assert Run.objects.get(record_id=started.record_id).status == RunStatus.SUCCEEDED


def test_a_lifecycle_worker_needs_no_broker(offline: Stage) -> None:
    """celery/celery #8030, #8082: a worker that does not depend on the broker."""
    send(2)
    worker = offline.lifecycle_worker()
    offline.wait_until("the labels", lambda: all_sent(2))
    send(1)
    offline.wait_until("the third label", lambda: all_sent(3))
    worker.process.send_signal(signal.SIGINT)
    assert offline.wait_for_end(worker) == 0
    assert "stopped" in worker.output


def test_once_runs_what_is_due_with_all_that_follows_and_ends(offline: Stage) -> None:
    send(3)
    worker = offline.lifecycle_worker("--once")
    assert offline.wait_for_end(worker) == 0
    assert all_sent(3)
    assert nothing_is_left_over()


def test_a_second_signal_ends_a_lifecycle_worker_at_once_and_its_run_is_recovered(offline: Stage) -> None:
    offline.hold_effects()
    worker = offline.lifecycle_worker()
    send()
    offline.wait_until("the start", lambda: offline.journal("start"))
    worker.process.send_signal(signal.SIGINT)
    worker.process.send_signal(signal.SIGTERM)
    assert offline.wait_for_end(worker, 5) > 128
    offline.let_go()
    offline.lifecycle_worker()
    offline.wait_until("the label", lambda: all_sent(1))
    assert Run.objects.get().crashes == 1
