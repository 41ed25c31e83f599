"""The polling worker's loop: what it serves, how it waits, what it outlives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from lifecycle import SYSTEM, registry
from lifecycle.execution.drain import DrainReport
from lifecycle.management.commands import lifecycle_worker
from lifecycle.management.commands.lifecycle_worker import Worker, known_queues
from lifecycle.models import Run, RunStatus
from lifecycle.runtime import create, fire
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db(transaction=True)


def enqueue(queue: str = "default") -> Run:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "take_back", actor=SYSTEM)
    run: Run = Run.objects.get(record_id=str(parcel.pk))
    Run.objects.filter(pk=run.pk).update(queue=queue)
    return run


def status(run: Run) -> str:
    return str(Run.objects.values_list("status", flat=True).get(pk=run.pk))


def test_by_default_it_serves_every_queue_that_a_lifecycle_or_an_effect_names(redeclare: Callable[..., Any]) -> None:
    redeclare("parcels", queue="parcels")
    assert "default" in known_queues()
    assert "parcels" in known_queues()
    assert set(known_queues()) >= {definition.queue for definition in registry.all()}


def test_once_serves_only_the_queues_it_is_given() -> None:
    mail, other = enqueue("mail"), enqueue()
    call_command("lifecycle_worker", "--once", "--queue", "mail")
    assert (status(mail), status(other)) == (RunStatus.SUCCEEDED, RunStatus.QUEUED)


@pytest.mark.parametrize("poll", ["0", "-1", "soon", "nan", "1e9"])
def test_a_pause_that_is_none_is_refused(poll: str) -> None:
    with pytest.raises(CommandError, match="expected seconds between"):
        call_command("lifecycle_worker", "--once", f"--poll={poll}")


def test_it_outlives_a_database_that_goes_away_and_whatever_else_a_round_raises(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(queues=["default"], poll=0.01)
    outcomes: list[Any] = [OperationalError("the server closed the connection"), ValueError("a bug"), True, "stop"]

    def drain(queue: str, **options: Any) -> DrainReport:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome == "stop":
            worker.stopping = True
        return DrainReport(done=1, more=False)

    monkeypatch.setattr(lifecycle_worker, "drain", drain)
    monkeypatch.setattr(worker, "_wait", lambda seconds: None)
    worker.run()
    assert outcomes == []
    assert len([record for record in caplog.records if "round failed" in record.getMessage()]) == 2


def test_it_waits_longer_the_longer_nothing_comes_and_is_quick_again_after_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = Worker(queues=["default"], poll=0.2)
    found = [*[0] * 12, 1, 0, 0]
    pauses: list[float] = []

    def drain(queue: str, **options: Any) -> DrainReport:
        return DrainReport(done=found.pop(0), more=False)

    def wait(seconds: float) -> None:
        pauses.append(round(seconds, 2))
        worker.stopping = not found

    monkeypatch.setattr(lifecycle_worker, "drain", drain)
    monkeypatch.setattr(worker, "_wait", wait)
    worker.run()
    assert pauses[:4] == [0.3, 0.45, 0.68, 1.01]
    assert pauses[9:12] == [5.0, 5.0, 5.0]
    assert pauses[12:] == [0.3, 0.45]


def test_a_signal_ends_the_wait_at_once() -> None:
    worker = Worker(queues=["default"], poll=0.2)
    ended = threading.Event()

    def wait() -> None:
        worker._wait(60)
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    worker._heard(15, None)
    assert ended.wait(10)
    assert worker.stopping
