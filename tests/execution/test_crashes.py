"""Workers that go down with a run in their hands."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import connections, transaction

from lifecycle import SYSTEM, clock, signals
from lifecycle.execution import crashes, follow_ups
from lifecycle.execution.drain import drain
from lifecycle.models import Run, RunAttempt
from lifecycle.runtime import create, fire
from lifecycle.store import claims, lost_leases, outcomes
from lifecycle.store.lost_leases import Crash
from lifecycle.testing import meeting, race, travel
from tests.execution.rows import USING, an_entry, claim, expire, facts, queue_run, queue_runs, stopped
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db


def test_a_run_whose_lease_is_over_starts_again_after_a_pause() -> None:
    """celery/celery #3541, #1628, procrastinate #307, django-tasks #46: from the row, and by itself."""
    queue_run()
    held = claim("lost-worker")
    expire(held)
    now = clock.now()

    with stopped(now):
        taken = crashes.take_back(USING)

    assert (taken.queued, taken.dead, taken.more) == (1, 0, False)
    run = Run.objects.get()
    assert (run.status, run.crashes, run.attempts, run.fence) == ("queued", 1, 0, held.fence + 1)
    assert (run.lease_until, run.leased_by) == (None, "")
    assert run.available_at == now + dt.timedelta(seconds=5)
    attempt = RunAttempt.objects.get()
    assert (attempt.ending, attempt.number, attempt.worker) == ("crashed", 1, "lost-worker")


def test_a_live_lease_is_left_alone_however_long_the_run_lasts() -> None:
    """oban #1141, hexpm PR #1825, river PR #1288, django-background-tasks #128, xagent #1565: age is not death."""
    queue_run()
    held = claim()
    Run.objects.update(started_at=clock.now() - dt.timedelta(days=1))
    before = facts(held)

    assert crashes.take_back(USING).queued == 0

    assert facts(held) == before


def test_pauses_after_crashes_double() -> None:
    queue_run(max_crashes=4)
    pauses = []
    for _ in range(3):
        with travel(hours=2):
            held = claim()
        expire(held)
        now = clock.now()
        with stopped(now):
            crashes.take_back(USING)
        pauses.append((Run.objects.get().available_at - now).total_seconds())

    assert pauses == [5, 10, 20]


def test_the_third_crash_is_death_and_the_record_is_not_stranded() -> None:
    """OasisPlatform PR #975, sidekiq #4633, #3400: poison is contained, `on_dead` follows."""
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    Run.objects.update(crashes=2)
    expire(claim())

    taken = crashes.take_back(USING)

    assert (taken.queued, taken.dead) == (0, 1)
    run = Run.objects.get()
    assert (run.status, run.outcome, run.error_kind, run.crashes) == ("dead", "dead", "worker_lost", 3)
    assert run.follow_up == "pending"
    assert run.follow_up_due_at is not None
    assert follow_ups.apply(run.pk, USING).status == "applied"
    parcel.refresh_from_db()
    assert parcel.status == "lost"


def test_the_death_of_an_effect_without_follow_ups_enqueues_nothing() -> None:
    queue_run(crashes=2)
    expire(claim())

    crashes.take_back(USING)

    run = Run.objects.get()
    assert (run.status, run.follow_up, run.follow_up_due_at) == ("dead", "none", None)


def test_a_dead_run_of_an_unknown_effect_leaves_its_follow_up_to_a_process_that_knows_it() -> None:
    queue_run(crashes=2, effect="renamed")
    expire(claim())

    crashes.take_back(USING)

    assert (Run.objects.get().status, Run.objects.get().follow_up) == ("dead", "pending")


def test_a_pass_is_bounded_and_says_that_more_is_there() -> None:
    """celery/kombu #164: the next pass goes on where this one stopped."""
    queue_runs(3, an_entry())
    for _ in range(3):
        expire(claim())

    assert [crashes.take_back(USING, limit=2).more, crashes.take_back(USING, limit=2).more] == [True, False]
    assert Run.objects.filter(status="queued", crashes=1).count() == 3


def test_attempts_and_crashes_number_the_starts_without_gaps(behave: dict[str, Any]) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    numbers = []

    def effect(ctx: Any) -> None:
        numbers.append(ctx.attempt)
        raise ConnectionError

    behave["print_label"] = effect
    expire(claim())
    crashes.take_back(USING)
    with travel(minutes=1):
        drain()
    with travel(minutes=2):
        expire(claim())
        crashes.take_back(USING)
    with travel(minutes=3):
        drain()

    assert numbers == [2, 4]
    assert list(RunAttempt.objects.values_list("number", "ending")) == [
        (1, "crashed"),
        (2, "failed"),
        (3, "crashed"),
        (4, "failed"),
    ]


def test_an_effect_that_ends_the_process_is_a_crash_known_at_once(behave: dict[str, Any]) -> None:
    fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM)

    def effect(ctx: Any) -> None:
        raise KeyboardInterrupt

    behave["refund_postage"] = effect

    with pytest.raises(KeyboardInterrupt):
        drain()

    run = Run.objects.get()
    assert (run.status, run.attempts, run.crashes, run.lease_until) == ("queued", 0, 1, None)
    assert run.available_at > clock.now()
    assert RunAttempt.objects.get().ending == "crashed"


@pytest.mark.django_db(transaction=True)
def test_run_dead_is_announced_after_the_commit() -> None:
    heard = []

    def listen(sender: Any, **facts: Any) -> None:
        heard.append((sender, facts["run"].status, facts["lifecycle"], facts["record_id"]))

    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    Run.objects.update(crashes=2)
    expire(claim())
    signals.run_dead.connect(listen)
    try:
        with transaction.atomic():
            crashes.take_back(USING)
            assert heard == []
    finally:
        signals.run_dead.disconnect(listen)

    assert heard == [(Parcel, "dead", "parcels", str(parcel.pk))]


@pytest.mark.parametrize("meanwhile", ["renewed", "finished", "taken back", "claimed by another"])
def test_a_sweep_that_looked_too_early_takes_nothing(meanwhile: str) -> None:
    """dbos-py #742, river #1302: the sweep's own UPDATE decides, not what it read before."""
    queue_run()
    held = claim()
    expire(held)
    seen = Run.objects.get()
    if meanwhile == "renewed":
        claims.for_alias(USING).renew([held.proof])
    elif meanwhile == "finished":
        claims.for_alias(USING).finish_and_claim(held, None, None)
    else:
        crashes.take_back(USING)
    if meanwhile == "claimed by another":
        with travel(minutes=1):
            expire(claim())
    before = facts(seen), RunAttempt.objects.count()

    taken = lost_leases.crash(seen, Crash(available_at=None, error="lost"), clock.now(), USING)

    assert taken is False
    assert (facts(seen), RunAttempt.objects.count()) == before


# Races ------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_of_two_sweeps_at_once_each_lost_run_is_taken_by_one() -> None:
    """dbos-py #742: what a recoverer read is not what it owns."""
    queue_runs(20, an_entry())
    for _ in range(20):
        expire(claim())

    finishes = race(*[lambda: crashes.take_back(USING).queued] * 3)

    assert sum(finish.get() for finish in finishes) == 20
    assert set(Run.objects.values_list("crashes", "fence")) == {(1, 2)}
    assert RunAttempt.objects.count() == 20


@pytest.mark.django_db(transaction=True)
def test_a_finish_and_a_sweep_at_once_leave_one_outcome() -> None:
    """river #1302, PR #1373: a run that finished after the sweep looked is not taken back."""
    for _ in range(5):
        Run.objects.all().delete()
        queue_run()
        held = claim()
        expire(held)

        finish, sweep = race(
            lambda held=held: claims.for_alias(USING).finish_and_claim(held, {"done": True}, None)[0],
            lambda: crashes.take_back(USING).queued,
        )

        run = Run.objects.get()
        won = (bool(finish.get()), sweep.get())
        assert won in [(True, 0), (False, 1)]
        assert (run.status, run.crashes, run.attempts) == (("succeeded", 0, 1) if won[0] else ("queued", 1, 0))


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_a_sweep_passes_over_a_run_whose_finish_is_not_committed_yet() -> None:
    queue_run()
    held = claim()
    expire(held)
    written, swept = meeting(2), meeting(2)

    def finish() -> None:
        with transaction.atomic():
            assert outcomes.succeed(held, None, clock.now(), USING, follow_up=False)
            written()
            swept()

    def sweep() -> int:
        written()
        taken = crashes.take_back(USING).queued
        swept()
        connections[USING].close()
        return taken

    finishes = race(finish, sweep)

    assert [finish.get() for finish in finishes] == [None, 0]
    assert Run.objects.get().status == "succeeded"


@pytest.mark.postgres
def test_a_run_that_cannot_be_written_keeps_no_other_with_its_lost_worker() -> None:
    queue_runs(3)
    held = [claim("lost-worker") for _ in range(3)]
    for one in held:
        expire(one)
    poison = held[1].id
    Run.objects.filter(pk=poison).update(crashes=2**31 - 1)  # one more does not fit into the column

    taken = crashes.take_back(USING)

    assert taken.queued == 2
    assert set(Run.objects.filter(status="queued").values_list("pk", flat=True)) == {held[0].id, held[2].id}
    assert Run.objects.get(pk=poison).status == "running"
