"""A worker's day: leases, long and silent effects, locks and outages in the middle of it."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction

from lifecycle import SYSTEM, clock, conf, effect
from lifecycle.exceptions import LeaseLost
from lifecycle.execution import attempts, connecting, crashes, finishing, follow_ups, watchdog
from lifecycle.execution.drain import drain
from lifecycle.models import EffectRun, Tick
from lifecycle.runtime import create, fire
from lifecycle.store import claims
from lifecycle.sweeps.outages import LEASES
from lifecycle.sweeps.tick import tick
from lifecycle.testing import Kit
from tests.desk.models import Parcel, Ticket
from tests.execution.rows import USING, claim, expire, queue_run
from tests.execution.watched import LIMIT, drained, until

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


def the_run() -> EffectRun:
    found: EffectRun = EffectRun.objects.get()
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
def test_the_next_turn_of_a_reminder_takes_the_lease_of_today(lifecycle: Kit) -> None:
    fire(create(Ticket(), actor=SYSTEM), "ask", actor=SYSTEM)
    EffectRun.objects.update(lease_seconds=10_800)
    lifecycle.travel(hours=5)

    drain()

    assert list(EffectRun.objects.order_by("id").values_list("status", "lease_seconds")) == [
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
    EffectRun.objects.update(lease_seconds=1)
    kept = []

    def slow_tick() -> None:
        held = EffectRun.objects.get(status="running")
        until(lambda: clock.now() > held.lease_until)
        kept.append((crashes.take_back(USING).queued, EffectRun.objects.get(pk=held.pk).lease_until > held.lease_until))

    assert drain(between=slow_tick).done == 2

    assert kept in ([(0, True)], [])  # SQLite and MySQL claim the next by itself, after what is between
    assert list(EffectRun.objects.values_list("status", "crashes")) == [("succeeded", 0)] * 2


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
    EffectRun.objects.update(lease_seconds=1)
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
    monkeypatch.setattr(finishing, "LOCK_WAIT", 0.2)
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
    monkeypatch.setattr(finishing, "LOCK_WAIT", 0.2)
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


# After an outage ---------------------------------------------------------------------------------


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
    table = EffectRun._meta.db_table
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
