"""Processes that end at every named point of a run's life: nothing is lost, nothing happens twice that must not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from lifecycle import SYSTEM
from lifecycle.execution import crashes, interference, points
from lifecycle.execution.drain import drain
from lifecycle.models import Run, RunAttempt, TransitionLog
from lifecycle.runtime import create, fire
from lifecycle.testing import travel
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db(transaction=True)

USING = "default"
KINDS = ("scan", "label", "refund")  # the scan first: its label is made before


def enqueue(kind: str) -> Parcel:
    """A parcel that enqueues one run: with a follow-up, atomic, or with nothing after it."""
    parcel = create(Parcel(), actor=SYSTEM)
    if kind == "refund":
        fire(parcel, "take_back", actor=SYSTEM)
        return parcel
    fire(parcel, "send", actor=SYSTEM)
    if kind == "scan":
        assert drain().done == 1
        fire(parcel, "scan", actor=SYSTEM)
    return parcel


def crash_at(point: str, times: int, log: Path) -> int:
    """Runs a worker that ends itself when it comes to the point for the so-manieth time."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.child", str(connection.settings_dict["NAME"]), point, str(times), str(log)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        timeout=90,
        check=False,
    )
    return done.returncode


def starts(log: Path) -> Callable[..., None]:
    """Notes every start of an effect."""

    def note(definition: Any, effect: Any, ctx: Any) -> None:
        with log.open("a") as file:
            file.write(f"{ctx.run_id} {ctx.attempt}\n")

    return note


def recover() -> None:
    """What a tick and the next worker do, once the leases are over."""
    with travel(minutes=10):
        crashes.take_back(USING)
    with travel(minutes=20):
        drain()


@pytest.mark.parametrize("point", points.NAMES)
def test_whatever_a_worker_was_doing_when_it_ended_every_run_is_done_once(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """celery/celery #3541, #1628, OpenFn #4708: recovery needs nothing but the rows, least of all the message."""
    parcels = {kind: enqueue(kind) for kind in KINDS}
    before = set(Run.objects.filter(status="succeeded").values_list("pk", flat=True))
    log = tmp_path / "starts"

    assert crash_at(point, 1, log) == 77
    crash_at(point, 2, log)

    monkeypatch.setattr(interference, "before", starts(log))
    recover()
    recover()

    # Nothing is left undone, nothing runs.
    runs = list(Run.objects.all())
    assert {run.status for run in runs} == {"succeeded"}, [(run.pk, run.status, run.error) for run in runs]
    # An outcome was recorded once: one attempt each, the other starts were crashes.
    assert {run.attempts for run in runs} == {1}
    assert RunAttempt.objects.count() == sum(run.crashes for run in runs)
    # No effect was started more often than the rows say.
    started = Counter(int(line.split()[0]) for line in log.read_text().splitlines())
    for run in runs:
        if run.pk not in before:
            assert 1 <= started[run.pk] <= run.attempts + run.crashes
    # Every follow-up was fired once, and what an atomic effect wrote is there once.
    assert TransitionLog.objects.filter(transition="labelled").count() == 2
    states = {}
    for kind, parcel in parcels.items():
        parcel.refresh_from_db()
        states[kind] = (parcel.status, parcel.scans)
    assert states == {"label": ("sent", 0), "scan": ("sent", 1), "refund": ("returned", 0)}
