"""A worker's day: leases, long and silent effects, locks and outages in the middle of it."""

from __future__ import annotations

import datetime as dt
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections, transaction

from lifecycle import SYSTEM, clock, conf, effect
from lifecycle.exceptions import LeaseLost
from lifecycle.execution import attempts, crashes, effects, follow_ups, silence, watchdog
from lifecycle.execution.drain import drain
from lifecycle.models import Run
from lifecycle.runtime import create, fire
from lifecycle.testing import Kit
from tests.execution.rows import USING, claim, expire, queue_run
from tests.execution.watched import LIMIT, drained, until
from tests.processes.children import stage
from tests.processes.proxy import Proxy
from tests.support.models import Parcel, Ticket

SECOND = dt.timedelta(seconds=1)
HOUR = dt.timedelta(hours=1)


def sent() -> Parcel:
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "send", actor=SYSTEM)
    return record


def returned() -> Parcel:
    """A parcel whose effect has no follow-up."""
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "take_back", actor=SYSTEM)
    return record


def the_run() -> Run:
    found: Run = Run.objects.get()
    return found


# How soon a lost worker is noticed, and how long an effect may take --------------------------------


@pytest.mark.django_db
@pytest.mark.row("G8")
@pytest.mark.parametrize("timeout", [SECOND, dt.timedelta(minutes=1), 2 * HOUR, None], ids=str)
@pytest.mark.parametrize(("own", "seconds"), [(None, 600), (5 * SECOND, 5), (dt.timedelta(milliseconds=1200), 2)])
def test_a_lease_is_the_setting_or_the_effects_own_however_long_the_effect_may_take(
    settings: Any, short: Callable[..., None], timeout: Any, own: Any, seconds: int
) -> None:
    settings.LIFECYCLE = {**settings.LIFECYCLE, "LEASE": dt.timedelta(minutes=10)}
    short("print_label", timeout=timeout, lease=own)

    sent()

    assert the_run().lease_seconds == seconds


@pytest.mark.row("G8")
def test_an_effect_takes_its_lease_from_nothing_but_its_own_option() -> None:
    from lifecycle.definition.compiler import DEFAULT_TIMEOUT
    from tests.definition.test_declaring import Base

    class Process(Base):
        @effect(on="close")
        def plain(self, ctx: Any) -> None: ...

        @effect(on="close", timeout=2 * HOUR)
        def long(self, ctx: Any) -> None: ...

        @effect(on="close", timeout=None, lease=SECOND)
        def endless(self, ctx: Any) -> None: ...

    found = {name: (one.timeout, one.lease) for name, one in Process.definition.effects.items() if name != "ring"}
    assert found == {"plain": (DEFAULT_TIMEOUT, None), "long": (2 * HOUR, None), "endless": (None, SECOND)}


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_a_worker_lost_in_an_effect_of_two_hours_is_noticed_when_its_lease_ends(
    short: Callable[..., None], lifecycle: Kit
) -> None:
    short("print_label", timeout=2 * HOUR)
    sent()
    claim()
    options = conf.options()
    lifecycle.travel(seconds=(options.lease + options.tick_every).total_seconds())

    lifecycle.tick()

    assert (the_run().status, the_run().crashes) == ("queued", 1)


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_a_run_queued_with_another_lease_keeps_it() -> None:
    queue_run(lease_seconds=10_800)

    held = claim()

    assert held.lease_seconds == 10_800
    assert held.lease_until - held.started_at >= 2.9 * HOUR


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_the_next_occurrence_of_a_reminder_takes_the_lease_of_today(lifecycle: Kit) -> None:
    fire(create(Ticket(), actor=SYSTEM), "ask", actor=SYSTEM)
    Run.objects.update(lease_seconds=10_800)
    lifecycle.travel(hours=5)

    drain()

    assert list(Run.objects.order_by("id").values_list("status", "lease_seconds")) == [
        ("succeeded", 10_800),
        ("queued", 60),
    ]


# From the claim to the commit --------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G2")
def test_a_run_claimed_with_the_finish_of_another_is_kept_while_the_tick_between_takes_its_time(
    behave: dict[str, Any], own_watchdog: watchdog.Watchdog
) -> None:
    for _ in range(2):
        returned()
    Run.objects.update(lease_seconds=1)
    kept = []

    def slow_tick() -> None:
        held = Run.objects.get(status="running")
        until(lambda: clock.now() > held.lease_until)
        kept.append((crashes.take_back(USING).queued, Run.objects.get(pk=held.pk).lease_until > held.lease_until))

    assert drain(between=slow_tick).done == 2

    assert kept in ([(0, True)], [])  # SQLite and MySQL claim the next by itself, after what is between
    assert list(Run.objects.values_list("status", "crashes")) == [("succeeded", 0)] * 2


@pytest.mark.django_db
@pytest.mark.row("G2")
@pytest.mark.parametrize("swept", [True, False])
def test_nothing_is_called_under_a_lease_that_may_be_over(behave: dict[str, Any], swept: bool) -> None:
    returned()
    called = []
    behave["refund_postage"] = lambda ctx: called.append(ctx.run.lease_until > clock.now())
    held = claim()
    with watchdog.holding(held, USING) as watch:
        watch.renewed_at -= held.lease_seconds  # the process stood still
        expire(held)
        if swept:
            crashes.take_back(USING)
            with pytest.raises(LeaseLost):
                attempts.perform(held, USING, lambda: None, watch)
        else:
            attempts.perform(held, USING, lambda: None, watch)

    assert called == ([] if swept else [True])


by_row = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite locks no rows")


@by_row
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G2")
def test_nothing_is_called_while_a_sweep_is_taking_the_run_away(behave: dict[str, Any]) -> None:
    returned()
    called: list[Any] = []
    behave["refund_postage"] = called.append
    held, lost = claim(), []
    expire(held)

    def work() -> None:
        try:
            with watchdog.holding(held, USING) as watch:
                watch.renewed_at -= held.lease_seconds  # the process stood still
                attempts.perform(held, USING, lambda: None, watch)
        except LeaseLost as error:
            lost.append(error.run_id)
        finally:
            connections.close_all()

    worker = threading.Thread(target=work)
    with transaction.atomic():
        assert crashes.take_back(USING).queued == 1
        worker.start()
        worker.join(0.2)
    worker.join(LIMIT)

    assert (called, lost) == ([], [held.id])


@contextmanager
def holding_the_record(parcel: Parcel) -> Iterator[threading.Event]:
    """Somebody's import has locked the row, in a transaction that takes its time."""
    locked, release = threading.Event(), threading.Event()

    def work() -> None:
        try:
            with transaction.atomic():
                Parcel.objects.select_for_update().get(pk=parcel.pk)
                locked.set()
                assert release.wait(LIMIT)
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
@pytest.mark.row("G1")
def test_a_lease_is_renewed_while_the_outcome_waits_for_the_records_lock(own_watchdog: watchdog.Watchdog) -> None:
    parcel = sent()
    Run.objects.update(lease_seconds=1)
    with holding_the_record(parcel) as release, drained():
        until(lambda: the_run().status == "running")
        until(lambda: clock.now() > the_run().started_at + 1.5 * SECOND)
        assert crashes.take_back(USING).queued == 0
        assert the_run().status == "running"
        release.set()
    parcel.refresh_from_db()
    assert (parcel.status, parcel.label, the_run().crashes, the_run().follow_up) == ("sent", "L-1", 0, "applied")


@by_row
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G1")
def test_the_outcome_is_recorded_alone_when_the_records_lock_does_not_come(
    monkeypatch: pytest.MonkeyPatch, own_watchdog: watchdog.Watchdog
) -> None:
    monkeypatch.setattr(effects, "LOCK_WAIT", 0.2)
    monkeypatch.setattr(follow_ups, "LOCK_WAIT", 0.2)
    parcel = sent()
    with holding_the_record(parcel):
        assert drain(runs=1).done == 1
        assert (the_run().status, the_run().follow_up, the_run().attempts) == ("succeeded", "pending", 1)
        tried = follow_ups.apply(the_run().pk, USING)
        assert (tried.status, the_run().follow_up_tries) == ("pending", 0)
        assert the_run().follow_up_due_at > clock.now(), "whoever comes next need not wait as well"

    assert follow_ups.apply(the_run().pk, USING).status == "applied"
    parcel.refresh_from_db()
    assert (parcel.status, parcel.label) == ("sent", "L-1")


LIMITS = {
    "postgresql": "SELECT current_setting('lock_timeout')",
    "mysql": "SELECT @@SESSION.innodb_lock_wait_timeout, @@SESSION.lock_wait_timeout",
}


@by_row
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G1")
@pytest.mark.parametrize("held", [True, False])
def test_the_session_waits_for_locks_afterwards_as_it_did_before(
    monkeypatch: pytest.MonkeyPatch, own_watchdog: watchdog.Watchdog, held: bool
) -> None:
    monkeypatch.setattr(effects, "LOCK_WAIT", 0.2)
    parcel = sent()

    def limits() -> Any:
        with connection.cursor() as cursor:
            cursor.execute(LIMITS[connection.vendor])
            return cursor.fetchone()

    before = limits()
    if held:
        with holding_the_record(parcel):
            drain(runs=1)
    else:
        drain(runs=1)

    assert limits() == before


# A database that neither answers nor hangs up ------------------------------------------------------


@by_row
@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G12")
@pytest.mark.parametrize("when", ["connecting", "reporting"])
def test_a_silent_database_is_named_in_the_log_and_the_first_signal_ends_the_worker(tmp_path: Path, when: str) -> None:
    with Proxy(connection.settings_dict) as proxy, stage(tmp_path) as made:
        if when == "connecting":
            proxy.fall_silent()
        else:
            made.hold_effects()
            sent()
        port, after = str(proxy.port), "0.5"
        worker = made.lifecycle_worker(LIFECYCLE_PROCESS_DATABASE_PORT=port, LIFECYCLE_PROCESS_SILENCE=after)
        if when == "connecting":
            made.wait_until("a connection", lambda: proxy.connections)
        else:
            made.wait_until("the start", lambda: made.journal("start"))
        proxy.fall_silent()
        made.let_go()

        made.wait_until("the line", lambda: "The database 'default' has not answered for" in worker.output)
        worker.terminate()
        assert made.wait_for_end(worker, seconds=5) == silence.EXIT_CODE

    assert "the worker was told to end: it ends." in worker.output
    if when == "reporting":
        assert (the_run().status, the_run().crashes) == ("running", 0)
        expire(the_run())
        assert crashes.take_back(USING).queued == 1


SLEEPS = {"postgresql": "SELECT pg_sleep(1.2)", "mysql": "SELECT SLEEP(1.2)"}


def long(ctx: Any = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(SLEEPS[connection.vendor])


@by_row
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G12")
@pytest.mark.parametrize("whose", ["worker", "effect", "callback"])
def test_only_a_wait_of_the_workers_own_is_a_silence(
    behave: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, whose: str
) -> None:
    monkeypatch.setattr(silence, "AFTER", 0.6)  # longer than a commit on a busy machine

    behave["refund_postage"] = long
    with silence.noticed(lambda: False):
        if whose == "effect":
            returned()
            assert drain().done == 1
        elif whose == "callback":
            with transaction.atomic():
                transaction.on_commit(lambda: threading.Event().wait(1.2))
        else:
            long()

    lines = [record.getMessage() for record in caplog.records if "has not answered" in record.getMessage()]
    assert len(lines) == (whose == "worker")


@by_row
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G12")
@pytest.mark.parametrize(("told", "ends"), [(signal.SIGTERM, True), (signal.SIGUSR1, False)])
def test_a_signal_counts_though_the_driver_lets_no_handler_be_called(
    monkeypatch: pytest.MonkeyPatch, told: int, ends: bool
) -> None:
    monkeypatch.setattr(silence, "AFTER", 0.1)
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    handler = signal.signal(told, lambda number, frame: None)
    try:
        with silence.noticed(lambda: False):
            os.kill(os.getpid(), told)
            long()
    finally:
        signal.signal(told, handler)
    assert set(codes) == ({silence.EXIT_CODE} if ends else set())
