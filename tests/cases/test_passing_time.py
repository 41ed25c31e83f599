"""Passing time: what the tick does about leases, timeouts and all that waits for a moment."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection

from lifecycle import clock
from lifecycle.models import EffectRun
from lifecycle.sweeps import expired_leases
from lifecycle.sweeps.passes import Pass
from lifecycle.testing import Kit
from tests.execution.rows import USING, queue_runs

# So many attempts that the number of one more start fits into no column.
TOO_MANY = {"postgresql": 2**31 - 1, "mysql": 2**32 - 1, "sqlite": 2**63 - 1}


def lost(number: int, hours: int = 1, **given: object) -> None:
    """Runs whose workers are gone, the leases ended so many hours ago, one after the other."""
    long_ago = clock.now() - dt.timedelta(hours=hours)
    runs = queue_runs(number, status="running", fence=1, leased_by="gone", started_at=long_ago, **given)
    for place, run in enumerate(runs):
        run.lease_until = long_ago + dt.timedelta(seconds=place)
    EffectRun.objects.bulk_update(runs, ["lease_until"])


def lost_for_ever(number: int) -> None:
    """Runs that cannot be taken back."""
    lost(number, hours=24, attempts=TOO_MANY[connection.vendor])


@pytest.mark.django_db
@pytest.mark.row("H9")
def test_runs_that_cannot_be_taken_back_keep_no_other_with_its_lost_worker_and_are_reported(lifecycle: Kit) -> None:
    lost_for_ever(expired_leases.BATCH + 5)
    lost(3)

    report = lifecycle.tick()

    assert report.done("expired_leases") == 3
    assert EffectRun.objects.filter(status="queued", crashes=1).count() == 3
    named = [failure for failure in report.failures if "could not be taken back" in failure]
    assert len(named) == expired_leases.NAMED + 1
    assert named[-1].startswith(f"{expired_leases.BATCH + 5 - expired_leases.NAMED} more runs")


@pytest.mark.django_db
@pytest.mark.row("H9")
def test_a_pass_that_ran_out_of_time_among_them_is_gone_on_with_and_then_begun_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expired_leases, "BATCH", 3)
    lost_for_ever(4)
    lost(1)
    found = []

    for batches in (1, 1, 1, 9):
        turn = Pass(using=USING)
        left = iter([True] * batches)
        monkeypatch.setattr(turn, "has_time", lambda left=left: next(left, False))
        expired_leases.run_once(turn)
        found.append((turn.done, len(turn.failures)))

    assert found == [(0, 3), (1, 2), (0, 0), (0, 4)]
