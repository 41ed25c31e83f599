"""Other clocks and other servers: one time for everything, in UTC, and keys also where bulk inserts return none."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from lifecycle import SYSTEM, clock
from lifecycle.execution.drain import drain
from lifecycle.models import EffectRun, Tick, TransitionLog
from lifecycle.runtime import create, fire, fire_many
from lifecycle.store import ticks, timing
from lifecycle.sweeps.tick import tick
from tests.cases.models.folders import Folder
from tests.cases.models.passing_time import Loan

pytestmark = pytest.mark.django_db

SOON = dt.timedelta(minutes=1)


# The zone of a server ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["-06:00", "+06:00"])
def _other_zone(request: pytest.FixtureRequest) -> Iterator[None]:
    if connection.vendor != "mysql":
        pytest.skip("elsewhere the server's zone is never read")
    with connection.cursor() as cursor:
        cursor.execute("SET time_zone = %s", [request.param])
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET time_zone = SYSTEM")


def is_now(moment: Any) -> bool:
    return bool(abs(moment - clock.now()) < SOON)


@pytest.mark.row("G11")
@pytest.mark.usefixtures("_other_zone")
def test_a_gate_opens_after_its_interval_whatever_the_servers_time_zone() -> None:
    every = dt.timedelta(seconds=10)

    assert [ticks.take("main", every, "default") for _ in range(2)] == [True, False]

    assert is_now(Tick.objects.get().next_at)
    ticks.finish("main", {}, "default", more=True)
    assert is_now(Tick.objects.get().last_finished_at)
    assert ticks.take("main", every, "default")


@pytest.mark.row("G11")
@pytest.mark.usefixtures("_other_zone")
def test_entries_stays_and_runs_have_one_time_whatever_the_servers_time_zone() -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    fire(folder, "take", actor=SYSTEM)

    assert is_now(TransitionLog.objects.latest("id").at)
    assert is_now(EffectRun.objects.get().available_at)
    drain()
    assert EffectRun.objects.get().status == "succeeded"


@pytest.mark.row("G11")
@pytest.mark.usefixtures("_other_zone")
def test_nothing_times_out_early_whatever_the_servers_time_zone() -> None:
    loan = create(Loan(title="a"), actor=SYSTEM)
    fire_many([loan], "remind", actor=SYSTEM)

    tick(force=True)

    loan.refresh_from_db()
    assert loan.status == "late"
    assert is_now(loan.status_changed_at)
    assert is_now(timing.now("default"))


# Keys of bulk inserts ------------------------------------------------------------------------------------------------


@pytest.mark.row("G9")
def test_a_batch_owes_its_effects_where_bulk_inserts_return_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(connection.features), "can_return_rows_from_bulk_insert", False)
    found = [create(Folder(slug=slug), actor=SYSTEM) for slug in "abc"]

    report = fire_many(found, "take", actor=SYSTEM)

    assert len(report.fired) == 3
    assert {run.entry_id for run in EffectRun.objects.all()} == {one.entry.pk for one in report.fired}
    drain()
    assert set(EffectRun.objects.values_list("status", flat=True)) == {"succeeded"}
