"""Outages: databases that are away, or locked away, for longer than a lease."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction

from lifecycle import SYSTEM, clock, conf
from lifecycle.execution import attempts, connecting, watchdog
from lifecycle.models import Run, Tick
from lifecycle.runtime import create, fire
from lifecycle.store import claims
from lifecycle.sweeps.outages import LEASES
from lifecycle.sweeps.tick import tick
from tests.execution.rows import USING, claim, expire, queue_run
from tests.execution.watched import LIMIT, inside
from tests.support.models import Parcel

SECOND = dt.timedelta(seconds=1)
HOUR = dt.timedelta(hours=1)


by_row = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite locks no rows")


def returned() -> Parcel:
    """A parcel whose effect has no follow-up."""
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "take_back", actor=SYSTEM)
    return record


def the_run() -> Run:
    found: Run = Run.objects.get()
    return found


def looked(ago: dt.timedelta, every: float = 5) -> None:
    """Some process looked at the leases so long ago, as it does every so many seconds."""
    at = clock.now() - ago
    Tick.objects.update_or_create(
        name=LEASES, defaults={"next_at": at, "last_finished_at": at, "counts": {"every": every}}
    )


@pytest.mark.django_db
@pytest.mark.row("G3")
def test_whoever_comes_back_from_an_outage_lets_those_who_still_work_renew_first() -> None:
    queue_run()
    held = claim()
    expire(held)
    looked(ago=HOUR)

    for _ in range(2):  # another process comes back a moment later: it knows from the rows
        assert tick(force=True).done("expired_leases") == 0
    waits_until = Tick.objects.get(name=LEASES).next_at
    assert SECOND < waits_until - clock.now() <= conf.options().lease / 4

    assert claims.for_alias(USING).renew([held.proof]) == {held.id}
    Tick.objects.filter(name=LEASES).update(next_at=clock.now())  # the interval is over
    assert tick(force=True).done("expired_leases") == 0
    expire(held)
    assert tick(force=True).done("expired_leases") == 1, "its worker is gone after all"


@pytest.mark.django_db
@pytest.mark.row("G3")
@pytest.mark.parametrize(
    ("ago", "every", "lease"),
    [(dt.timedelta(seconds=8), 5, 2), (dt.timedelta(seconds=40), 5, 60), (HOUR, 3600, 60), (-HOUR, 5, 60)],
    ids=["as often as usual", "no lease could end", "a tick by cron", "the clock was put back"],
)
def test_without_an_outage_a_lost_worker_is_noticed_at_once(ago: dt.timedelta, every: float, lease: int) -> None:
    queue_run(lease_seconds=lease)
    expire(claim())
    looked(ago, every)

    assert tick(force=True).done("expired_leases") == 1


@pytest.mark.django_db
@pytest.mark.row("G3")
def test_a_tick_that_has_become_rare_for_good_is_no_outage_for_ever() -> None:
    queue_run()
    expire(claim())
    looked(ago=dt.timedelta(minutes=5))
    found = []
    for _ in range(8):
        found.append(tick(force=True).done("expired_leases"))
        ago = clock.now() - dt.timedelta(minutes=5)
        Tick.objects.filter(name=LEASES).update(next_at=ago, last_finished_at=ago)

    assert (found[0], sum(found)) == (0, 1)


@contextmanager
def locked_away() -> Iterator[threading.Event]:
    """While open, the table of runs is locked away from everybody, as in an outage in which nobody sees an error."""
    locked, release = threading.Event(), threading.Event()
    table = Run._meta.db_table
    lock, unlock = {
        "postgresql": (f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE", "ROLLBACK"),
        "mysql": (f"LOCK TABLES {table} WRITE", "UNLOCK TABLES"),
    }[connection.vendor]

    def work() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute(lock)
                locked.set()
                assert release.wait(LIMIT)
                cursor.execute(unlock)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert locked.wait(LIMIT)
        yield release
    finally:
        release.set()
        thread.join(LIMIT)


@by_row
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G3")
def test_a_sweep_that_waited_for_the_rows_takes_none_back_for_nobody_could_renew_either(settings: Any) -> None:
    settings.LIFECYCLE = {**settings.LIFECYCLE, "LEASE": SECOND}
    queue_run(lease_seconds=1)
    held = claim()
    looked(dt.timedelta(0), every=3600)
    swept = []

    def sweep() -> None:
        try:
            swept.append(tick(force=True).done("expired_leases"))
        finally:
            connections.close_all()

    with locked_away() as back:
        threading.Event().wait(max((held.lease_until - clock.now()).total_seconds(), 0) + 0.05)
        sweeper = threading.Thread(target=sweep)
        sweeper.start()
        threading.Event().wait(0.4)  # longer than an interval of the lease
        back.set()
        sweeper.join(LIMIT)

    assert swept == [0]
    assert claims.for_alias(USING).renew([held.proof]) == {held.id}


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G3")
def test_a_worker_told_to_end_in_an_outage_holds_on_to_its_outcome_a_little_longer_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connecting, "LAST_TRIES", 0.3)
    told, tries = threading.Event(), []

    def write() -> None:
        tries.append(clock.monotonic())
        if len(tries) == 3:
            told.set()
        raise OperationalError("server closed the connection unexpectedly")

    with pytest.raises(OperationalError):
        connecting.until_answered(write, lambda: None, USING, attempts.OUTAGE, told.is_set)

    assert len(tries) > 3
    assert tries[-1] - tries[2] < LIMIT / 2


@contextmanager
def away() -> Iterator[None]:
    """While open, the database has ended every connection and refuses new ones."""
    name = connection.settings_dict["NAME"]
    connections.close_all()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        try:
            cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
            yield
        finally:
            cursor.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G3")
def test_an_outcome_in_hand_outlasts_a_database_that_is_away_for_longer_than_its_lease(
    behave: dict[str, Any], own_watchdog: watchdog.Watchdog, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LIFECYCLE = {**settings.LIFECYCLE, "LEASE": SECOND, "TICK_EVERY": SECOND / 20}
    monkeypatch.setattr(watchdog, "AGAIN", 1.0)
    returned()
    with inside(behave, "refund_postage") as leave:
        run = the_run()
        looked(dt.timedelta(0), every=0)
        with away():
            leave.set()
            threading.Event().wait(max((run.lease_until - clock.now()).total_seconds(), 0) + 0.1)
        assert tick(force=True).done("expired_leases") == 0

    assert (the_run().status, the_run().fence, the_run().crashes) == ("succeeded", run.fence, 0)


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G1", "G3")
def test_an_outcome_in_hand_outlasts_a_writer_that_keeps_the_database_for_longer_than_its_lease(
    behave: dict[str, Any], own_watchdog: watchdog.Watchdog, settings: Any
) -> None:
    settings.LIFECYCLE = {**settings.LIFECYCLE, "LEASE": SECOND, "TICK_EVERY": SECOND / 20}
    returned()
    with inside(behave, "refund_postage") as leave:
        looked(dt.timedelta(0), every=0)
        Run.objects.update(lease_until=clock.now())
        with transaction.atomic():  # BEGIN IMMEDIATE
            leave.set()
            threading.Event().wait(0.85)
        assert tick(force=True).done("expired_leases") == 0

    assert (the_run().status, the_run().crashes) == ("succeeded", 0)
