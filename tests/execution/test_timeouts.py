"""Time: effects that hang, long effects that live, and the thread that tells them apart."""

from __future__ import annotations

import datetime as dt
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections, transaction

from lifecycle import SYSTEM, Retry, clock
from lifecycle.exceptions import LeaseLost
from lifecycle.execution import alarms, attempts, watchdog
from lifecycle.execution.drain import drain
from lifecycle.execution.effects import EffectWork
from lifecycle.execution.limits import Limits
from lifecycle.models import Run, RunAttempt
from lifecycle.runtime import create, fire
from lifecycle.store import claims
from tests.execution.rows import USING, claim, facts, queue_run
from tests.execution.watched import LIMIT, until
from tests.support.models import Parcel


def sent() -> Parcel:
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "send", actor=SYSTEM)
    return record


def hang() -> None:
    threading.Event().wait(LIMIT)


# In the main thread: interrupted ----------------------------------------------------------------


@pytest.mark.django_db
def test_a_hanging_effect_is_interrupted_and_counts_as_an_attempt(
    behave: dict[str, Any], short: Callable[..., None]
) -> None:
    sent()
    short("print_label", timeout=dt.timedelta(milliseconds=50))
    behave["print_label"] = lambda ctx: hang()
    started = time.monotonic()

    assert drain().done == 1

    assert time.monotonic() - started < LIMIT / 2
    run = Run.objects.get()
    assert (run.status, run.attempts, run.error_kind, run.error) == ("queued", 1, "timeout", "Timed out after 0.05 s.")
    attempt = RunAttempt.objects.get()
    assert attempt.ending == "timed_out"
    assert "hang" in attempt.traceback


@pytest.mark.django_db
def test_a_timeout_is_not_retried_where_the_definition_says_so(
    behave: dict[str, Any], short: Callable[..., None]
) -> None:
    parcel = sent()
    short("print_label", timeout=dt.timedelta(milliseconds=50), retry=Retry(attempts=3, no_retry_on=(TimeoutError,)))
    behave["print_label"] = lambda ctx: hang()

    drain()

    parcel.refresh_from_db()
    assert (Run.objects.get().status, parcel.status) == ("failed", "stuck")


@pytest.mark.django_db
def test_a_broad_except_in_an_effect_does_not_swallow_its_timeout(
    behave: dict[str, Any], short: Callable[..., None]
) -> None:
    sent()
    short("print_label", timeout=dt.timedelta(milliseconds=50))

    def effect(ctx: Any) -> None:
        try:
            hang()
        except Exception:  # noqa: BLE001 the habit under test
            hang()

    behave["print_label"] = effect

    drain()

    assert Run.objects.get().error_kind == "timeout"


@pytest.mark.django_db
def test_an_error_that_the_interruption_leads_to_is_still_a_timeout(
    behave: dict[str, Any], short: Callable[..., None]
) -> None:
    sent()
    short("print_label", timeout=dt.timedelta(milliseconds=50))

    def effect(ctx: Any) -> None:
        try:
            hang()
        finally:
            raise RuntimeError("another command is already in progress")

    behave["print_label"] = effect

    drain()

    assert Run.objects.get().error_kind == "timeout"


@pytest.mark.django_db
def test_an_effect_that_returns_in_time_leaves_no_timer_and_no_handler_behind(behave: dict[str, Any]) -> None:
    sent()
    inside = []
    behave["print_label"] = lambda ctx: inside.append(signal.getitimer(signal.ITIMER_REAL)[0])
    before = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        drain()
        after = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before[1])

    assert 0 < inside[0] <= 10
    assert after == (before[0], (0.0, 0.0))


@pytest.mark.django_db
def test_the_timer_is_off_while_the_outcome_is_recorded(
    behave: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """P23: an alarm during a statement or a commit would leave the connection unusable."""
    sent()
    seen = []
    before = signal.getsignal(signal.SIGALRM)
    write = EffectWork.succeeded

    def watched(*args: Any) -> Any:
        seen.append(signal.getsignal(signal.SIGALRM))
        return write(*args)

    monkeypatch.setattr(EffectWork, "succeeded", watched)

    drain()

    assert seen == [before]


@pytest.mark.django_db
def test_a_timer_of_somebody_else_is_borrowed_and_goes_on_afterwards(behave: dict[str, Any]) -> None:
    sent()
    inside, rang = [], []
    behave["print_label"] = lambda ctx: inside.append(signal.getitimer(signal.ITIMER_REAL)[0])
    before = signal.signal(signal.SIGALRM, lambda *args: rang.append(args)), signal.getitimer(signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, 100)
    try:
        assert not alarms.Alarm(Limits(dt.timedelta(seconds=101))).usable
        drain()
        left = signal.getitimer(signal.ITIMER_REAL)[0]
        os.kill(os.getpid(), signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before[0])
        signal.setitimer(signal.ITIMER_REAL, *before[1])

    assert inside[0] <= 10
    assert 50 < left <= 100
    assert len(rang) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
@pytest.mark.parametrize("inside", ["autocommit", "atomic", "atomic effect"])
def test_a_statement_interrupted_half_way_costs_the_connection_not_the_record_of_it(
    behave: dict[str, Any], short: Callable[..., None], inside: str
) -> None:
    """P23."""
    parcel = sent()
    short("print_label", timeout=dt.timedelta(milliseconds=100), atomic=inside == "atomic effect")

    def sleep_in_the_database() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(%s)", [LIMIT])

    def effect(ctx: Any) -> None:
        if inside == "atomic":
            with transaction.atomic():
                Parcel.objects.filter(pk=parcel.pk).update(problem="half done")
                sleep_in_the_database()
        else:
            sleep_in_the_database()

    behave["print_label"] = effect

    assert drain().done == 1

    run = Run.objects.get()
    assert (run.status, run.attempts, run.error_kind) == ("queued", 1, "timeout")
    parcel.refresh_from_db()
    assert parcel.problem == ""


# Wherever the code hangs: the watchdog ----------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_an_effect_that_hangs_in_a_thread_is_failed_in_the_rows_and_its_late_answer_discarded(
    behave: dict[str, Any], short: Callable[..., None], own_watchdog: watchdog.Watchdog
) -> None:
    parcel = sent()
    short("print_label", timeout=dt.timedelta(milliseconds=50))
    release, cancelled = threading.Event(), []

    def effect(ctx: Any) -> dict[str, Any]:
        assert release.wait(LIMIT)
        cancelled.append(ctx.cancelled)
        return {"label": "late"}

    behave["print_label"] = effect

    def work() -> None:
        try:
            drain(runs=1)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        until(lambda: Run.objects.get().error_kind == "timeout")
        run = Run.objects.get()
        assert (run.status, run.attempts, run.fence) == ("queued", 1, 2)
        assert RunAttempt.objects.get().ending == "timed_out"
        before = facts(run)
    finally:
        release.set()
        thread.join(LIMIT)

    assert cancelled == [True]
    assert facts(run) == before
    parcel.refresh_from_db()
    assert (parcel.status, parcel.label) == ("labelling", "")


@pytest.mark.django_db(transaction=True)
def test_the_watchdogs_last_timeout_leaves_the_follow_up_to_the_tick(
    behave: dict[str, Any], short: Callable[..., None], own_watchdog: watchdog.Watchdog
) -> None:
    parcel = sent()
    Run.objects.update(max_attempts=1)
    short("print_label", timeout=dt.timedelta(milliseconds=20))
    release = threading.Event()
    behave["print_label"] = lambda ctx: release.wait(LIMIT)

    def work() -> None:
        try:
            drain(runs=1)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        until(lambda: Run.objects.get().status == "failed")
    finally:
        release.set()
        thread.join(LIMIT)

    assert Run.objects.get().follow_up == "pending"
    parcel.refresh_from_db()
    assert parcel.status == "labelling"


@pytest.mark.django_db(transaction=True)
def test_a_long_effect_keeps_its_lease_without_doing_anything_for_it(
    behave: dict[str, Any], own_watchdog: watchdog.Watchdog
) -> None:
    """oban #1141, hexpm PR #1825: heartbeat, not elapsed time."""
    sent()
    Run.objects.update(lease_seconds=1)
    leases = []

    def effect(ctx: Any) -> dict[str, Any]:
        leases.append(Run.objects.get().lease_until)
        until(lambda: Run.objects.get().lease_until > leases[0])
        return {"label": "L"}

    behave["print_label"] = effect

    assert drain().done == 1

    assert Run.objects.get().status == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_an_effect_learns_that_its_run_was_taken_away(behave: dict[str, Any], own_watchdog: watchdog.Watchdog) -> None:
    sent()
    Run.objects.update(lease_seconds=1)
    learned = []

    def effect(ctx: Any) -> None:
        Run.objects.update(fence=99)
        until(lambda: ctx.cancelled)
        with pytest.raises(LeaseLost):
            ctx.heartbeat()
        learned.append(True)

    behave["print_label"] = effect

    drain(runs=1)

    assert learned == [True]
    assert Run.objects.get().fence == 99


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_cannot_renew_gives_up_before_its_lease_is_over(
    behave: dict[str, Any], own_watchdog: watchdog.Watchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """solid_queue PR #778, #763: a worker that cannot renew stops itself."""
    sent()
    Run.objects.update(lease_seconds=1)
    store = type(claims.for_alias(USING))

    def no_answer(self: Any, proofs: Any) -> set[int]:
        raise OSError("the network is down")

    monkeypatch.setattr(store, "renew", no_answer)
    waited = []

    def effect(ctx: Any) -> None:
        started = time.monotonic()
        until(lambda: ctx.cancelled)
        waited.append(time.monotonic() - started)

    behave["print_label"] = effect

    drain(runs=1)

    assert 0.5 < waited[0] < 1.5


@pytest.mark.django_db
def test_inside_a_tests_transaction_nothing_is_watched(behave: dict[str, Any], own_watchdog: watchdog.Watchdog) -> None:
    sent()
    threads = []
    behave["print_label"] = lambda ctx: threads.append(own_watchdog._thread)

    drain()

    assert threads == [None]


@pytest.mark.django_db(transaction=True)
def test_a_stream_of_short_runs_disturbs_the_watchdog_once(
    behave: dict[str, Any], own_watchdog: watchdog.Watchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "IDLE", LIMIT)  # it stays, whatever happens meanwhile
    served: list[Any] = []
    notified: list[Any] = []
    monkeypatch.setattr(own_watchdog, "_serve", served.append)
    notify = own_watchdog._changed.notify

    def count() -> None:
        notified.append(1)
        notify()

    monkeypatch.setattr(own_watchdog._changed, "notify", count)
    for _ in range(20):
        sent()

    drain()

    assert served == []
    assert len(notified) <= 1
    monkeypatch.setattr(watchdog, "IDLE", 0.0)
    with own_watchdog._changed:
        own_watchdog._wakes_at = 0.0
        notify()


@pytest.mark.django_db(transaction=True)
def test_a_forked_child_has_a_watchdog_of_its_own(own_watchdog: watchdog.Watchdog) -> None:
    queue_run()
    with watchdog.holding(claim(), USING):
        connections.close_all()  # a fork must not share a connection
        child = os.fork()
        if child == 0:
            fresh = watchdog._watchdog
            os._exit(0 if fresh is not own_watchdog and not fresh._watches and fresh._thread is None else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_by_hand_renews_a_lease_that_is_getting_old(behave: dict[str, Any]) -> None:
    sent()
    seen = []

    def effect(ctx: Any) -> dict[str, Any]:
        row = Run.objects.get()
        ctx.heartbeat()
        seen.append(Run.objects.get().lease_until == row.lease_until)  # a fresh one is left alone
        ctx._watch.renewed_at -= row.lease_seconds
        ctx.heartbeat()
        seen.append(Run.objects.get().lease_until > row.lease_until)
        return {"label": "L"}

    behave["print_label"] = effect

    attempts.perform(claim(), USING, lambda: None)

    assert seen == [True, True]
    assert clock.overridden() is None
