"""Workers, brokers and databases that go away: what people lost in public, and do not lose here."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import OperationalError, connection

from lifecycle import SYSTEM, clock, conf
from lifecycle.execution import crashes
from lifecycle.execution.drain import drain
from lifecycle.execution.worker_ids import worker_id
from lifecycle.models import Run, RunAttempt, Tick
from lifecycle.operations import retry_run
from lifecycle.runtime import create, fire
from lifecycle.store import claims, lost_leases
from lifecycle.store.claims import Wanted
from lifecycle.sweeps import expired_leases, tick
from lifecycle.sweeps.passes import Pass
from lifecycle.testing import Kit
from tests.execution.rows import USING, claim, expire, facts, queue_run, queue_runs
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db


def running_past_its_lease(number: int) -> list[Run]:
    long_ago = clock.now() - dt.timedelta(days=1)
    return queue_runs(number, status="running", fence=1, leased_by="gone", lease_until=long_ago, started_at=long_ago)


def test_one_pass_takes_back_all_lost_runs_however_many_batches_that_takes() -> None:
    """celery/kombu #164: recovery must not be slower than what fails."""
    running_past_its_lease(2 * expired_leases.BATCH + 1)
    sweep = Pass(using=USING, seconds=60)

    expired_leases.run_once(sweep)

    assert (sweep.done, sweep.more) == (2 * expired_leases.BATCH + 1, False)
    assert not Run.objects.filter(status="running").exists()


def test_a_pass_whose_time_is_up_stops_and_says_that_more_is_there() -> None:
    """Anthias PR #3180: a sweep that takes too long must not become what has to be killed."""
    running_past_its_lease(1)
    sweep = Pass(using=USING, seconds=0)

    expired_leases.run_once(sweep)

    assert (sweep.done, sweep.more) == (0, True)


def test_a_pass_that_breaks_in_the_middle_is_done_by_the_next(monkeypatch: pytest.MonkeyPatch, lifecycle: Kit) -> None:
    """dbos-inc/dbos-transact-py #716: the database restarted during recovery, and what was half recovered stayed so."""
    running_past_its_lease(3)
    crash, calls = lost_leases.crash, []

    def breaking(*args: Any) -> bool:
        calls.append(args)
        if len(calls) == 2:
            raise OperationalError("the server is shutting down")
        return crash(*args)

    monkeypatch.setattr(lost_leases, "crash", breaking)

    broken = lifecycle.tick()

    assert [failure for failure in broken.failures if "expired leases" in failure]
    assert Run.objects.filter(status="running").count() == 3
    assert RunAttempt.objects.count() == 0
    assert lifecycle.tick().done("expired_leases") == 3


def test_a_sweeper_that_dies_in_its_tick_blocks_nobody(monkeypatch: pytest.MonkeyPatch, lifecycle: Kit) -> None:
    """procrastinate-org/procrastinate #1408: the job that retries stalled jobs stalled itself."""
    running_past_its_lease(1)

    class Killed(BaseException):
        pass

    def killed(sweep: Pass) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setitem(tick.PARTS, "expired_leases", killed)
        with pytest.raises(Killed):
            tick.tick()
    assert Tick.objects.get(name=tick.MAIN).last_finished_at is None

    assert not tick.tick().ran, "the tick is taken"
    lifecycle.travel(seconds=conf.options().tick_every.total_seconds())
    assert tick.tick().done("expired_leases") == 1


def test_a_worker_of_the_same_name_does_not_keep_the_runs_of_its_forerunner_from_being_found(lifecycle: Kit) -> None:
    """procrastinate-org/procrastinate #1518, oban-bg/oban #862: pods and nodes come back under their old names."""
    queue_run()
    held = claim(worker_id())
    lifecycle.travel(seconds=held.lease_seconds + 1)

    lifecycle.tick()

    assert Run.objects.get().status == "queued"


def test_what_is_stuck_is_counted_where_people_look(lifecycle: Kit) -> None:
    """geolens #624: a row was running for three weeks, and nobody saw it."""
    running_past_its_lease(2)
    queue_run(available_at=clock.now() - dt.timedelta(hours=3))
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(tick.PARTS, "expired_leases", lambda sweep: None)
        lifecycle.tick()

    counts = Tick.objects.get(name=tick.MAIN).counts

    assert counts["lease_expired"] == 2
    assert counts["oldest_due_seconds"] >= 3 * 3600


def test_a_run_that_crashed_takes_nobodys_place() -> None:
    """pgqueuer #475, django-background-tasks #239, #151, tubesync #252: its slot was lost too."""
    queue_runs(3)
    expire(claim("crashed"))

    assert drain().done == 2
    assert crashes.take_back(USING).queued == 1


@pytest.mark.django_db(transaction=True)
def test_nothing_of_a_claim_lives_in_a_session() -> None:
    """bensheldon/good_job #52, #269, #1214, #90: advisory locks died with PgBouncer's or the server's sessions."""
    queue_runs(2)
    store = claims.for_alias(USING)
    held = claim("first")

    another_session = connection.close
    another_session()
    assert store.claim(Wanted(queue="default", worker="second")) is not None, "the other run"
    assert store.claim(Wanted(queue="default", worker="third")) is None, "a lease outlives the session that took it"
    another_session()
    assert store.checkpoint(held, {"page": 2})
    another_session()
    assert store.renew([held.proof]) == {held.id}
    another_session()
    assert store.finish_and_claim(held, None, None)[0]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_no_lock_or_setting_stays_in_the_session(lifecycle: Kit) -> None:
    """bensheldon/good_job #52, #269, #1214: behind PgBouncer a session is not ours from one transaction to the next."""

    def settings() -> set[tuple[str, str]]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT name, setting FROM pg_settings WHERE source = 'session'")
            return set(cursor.fetchall())

    before = settings()
    fire(create(Parcel(), actor=SYSTEM), "send", actor=SYSTEM)
    lifecycle.run_due()
    lifecycle.tick()

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT count(*) FROM pg_listening_channels()")
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT count(*) FROM pg_cursors WHERE is_holdable")
        assert cursor.fetchone() == (0,)
    assert settings() == before


def test_a_lease_is_not_the_pause_between_attempts(lifecycle: Kit) -> None:
    """Koed00/django-q #183, #307, #614, #344: work that took longer than the retry setting was started again."""
    fire(create(Parcel(), actor=SYSTEM), "send", actor=SYSTEM)
    held = claim()  # its pauses are seconds, its lease is a minute

    for _ in range(5):
        lifecycle.travel(seconds=11)
        lifecycle.tick()
        assert drain().done == 0
        assert claims.for_alias(USING).renew([held.proof]) == {held.id}


def test_a_retried_run_comes_back_without_the_traces_of_its_failure(lifecycle: Kit) -> None:
    """PostHog/posthog PR #59482, RealOrangeOne/django-tasks-db #7: the only cure was an update() in a shell."""
    queue_run()
    held = claim()
    lifecycle.travel(seconds=held.lease_seconds + 1)
    Run.objects.filter(pk=held.id).update(max_crashes=1)
    lifecycle.tick()
    assert facts(held)["status"] == "dead"

    retry_run(Run.objects.get(pk=held.id), actor=SYSTEM, reason="the node is back")

    run = facts(held)
    assert (run["status"], run["outcome"], run["error"], run["error_kind"]) == ("queued", "", "", "")
    assert RunAttempt.objects.get(run=held.id).ending == "crashed", "what happened is kept beside it"
