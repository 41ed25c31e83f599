"""A broker that is dead or silent: commits hardly notice, and the work is done anyway."""

from __future__ import annotations

import threading
import time

import pytest

from lifecycle import SYSTEM, dispatch
from lifecycle.models import Run, RunStatus
from lifecycle.runtime import create, fire
from tests.processes.children import Stage
from tests.servers import OwnRedis
from tests.support.models import Parcel

pytestmark = pytest.mark.processes

QUICK = 0.1
SLOW = 0.6
PACE = 0.02
SLACK = 0.15  # for a machine that is busy with something else


class Stopwatch:
    """Times what a publish costs the caller, through the dispatcher of the settings."""

    def __init__(self) -> None:
        self.inner = dispatch.current()
        self.times: list[float] = []

    def publish(self, queue: str) -> bool:
        started = time.perf_counter()
        try:
            return self.inner.publish(queue)
        finally:
            self.times.append(time.perf_counter() - started)


def send_for(seconds: float, at_least: int) -> int:
    """Fires again and again, no faster than people do; how often."""
    until, count, pace = time.monotonic() + seconds, 0, threading.Event()
    while time.monotonic() < until or count < at_least:
        fire(create(Parcel(), actor=SYSTEM), "send", actor=SYSTEM)
        count += 1
        pace.wait(PACE)
    return count


def all_sent(count: int) -> bool:
    return Parcel.objects.filter(status=Parcel.Status.SENT).count() == count


def test_a_dead_broker_costs_no_commit_anything_and_a_polling_worker_does_the_work(
    online: Stage, own_redis: OwnRedis, caplog: pytest.LogCaptureFixture
) -> None:
    """celery/celery #4296, #6911, #4556, #4663: delay() hung when the broker was down."""
    assert dispatch.publish("default"), "the broker is there at first"
    own_redis.kill()
    with dispatch.replaced(Stopwatch()) as watch:
        count = send_for(2.5, at_least=10)
    assert len(watch.times) == count
    assert max(watch.times) < QUICK + SLACK
    assert sum(took > QUICK for took in watch.times) <= 2
    warnings = [record for record in caplog.records if record.name == "lifecycle.dispatch"]
    assert [record.levelname for record in warnings] == ["WARNING"], "an outage is announced once"

    online.lifecycle_worker()
    online.wait_until("all labels", lambda: all_sent(count))
    assert set(Run.objects.values_list("status", flat=True)) == {RunStatus.SUCCEEDED}


def test_a_silent_broker_costs_one_commit_per_period_and_the_work_is_done_once_it_answers(
    online: Stage, own_redis: OwnRedis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="lifecycle.dispatch")
    worker = online.celery_worker()
    online.wait_until("the worker", lambda: "ready." in worker.output)
    assert dispatch.publish("default")
    own_redis.freeze()
    try:
        with dispatch.replaced(Stopwatch()) as watch:
            count = send_for(4.0, at_least=10)
    finally:
        own_redis.thaw()
    slow = [took for took in watch.times if took > QUICK + SLACK]
    # Periods of 1, 2, 2, … seconds: at 0, 1.5 and 4 s.
    assert 1 <= len(slow) <= 3
    assert max(slow) < SLOW + SLACK
    assert len(watch.times) - len(slow) >= 5

    online.wait_until("all labels", lambda: all_sent(count), seconds=60)
    assert set(Run.objects.values_list("status", flat=True)) == {RunStatus.SUCCEEDED}
    online.wait_until("the broker to be taken up again", lambda: dispatch.publish("default"))
    said = [record.levelname for record in caplog.records if record.name == "lifecycle.dispatch"]
    assert said == ["WARNING", "INFO"]


def test_after_a_restart_of_the_broker_the_workers_tick_finds_what_nobody_was_woken_for(
    online: Stage, own_redis: OwnRedis
) -> None:
    """celery/celery #1789, #8030, #8384: a restart of Redis lost tasks, or stopped their consumers."""
    worker = online.celery_worker()
    online.wait_until("the worker", lambda: "ready." in worker.output)
    own_redis.kill()
    count = send_for(0.0, at_least=5)
    own_redis.start()
    online.wait_until("all labels", lambda: all_sent(count), seconds=60)
