"""What every database's claims must do; runs on whichever database the suite was given."""

from __future__ import annotations

import datetime as dt
import threading

import pytest

from lifecycle import clock
from lifecycle.models import Run
from lifecycle.store import claims
from lifecycle.store.claims import ClaimedRun, Wanted
from lifecycle.testing import race
from tests.execution.rows import USING, an_entry, claim, expire, facts, queue_run, queue_runs, stopped

pytestmark = pytest.mark.django_db

WANTED = Wanted(queue="default", worker="w1")


@pytest.fixture
def store() -> claims.Claims:
    return claims.for_alias(USING)


def test_a_claim_takes_the_run_that_has_been_due_longest(store: claims.Claims) -> None:
    second, first = queue_run(), queue_run(available_at=clock.now() - dt.timedelta(hours=1))

    taken = [store.claim(WANTED), store.claim(WANTED)]

    assert [held.id for held in taken if held] == [first.pk, second.pk]


def test_runs_due_at_the_same_moment_come_in_the_order_of_their_ids(store: claims.Claims) -> None:
    moment = clock.now() - dt.timedelta(minutes=1)
    runs = queue_runs(3, available_at=moment)

    taken = [store.claim(WANTED) for _ in runs]

    assert [held.id for held in taken if held] == [run.pk for run in runs]


def test_a_claim_holds_the_row_under_a_lease_of_the_rows_own_length(store: claims.Claims) -> None:
    run = queue_run(lease_seconds=90, checkpoint={"page": 3}, stay_version=4)

    held = store.claim(WANTED)

    assert held is not None
    row = Run.objects.get(pk=run.pk)
    assert (row.status, row.fence, row.leased_by) == ("running", 1, "w1")
    assert row.lease_until is not None
    assert row.started_at is not None
    assert abs((row.lease_until - row.started_at).total_seconds() - 90) < 0.01
    assert held == ClaimedRun(
        **{name: getattr(row, name) for name in ClaimedRun.__slots__ if name != "entry_id"}, entry_id=run.entry_id
    )
    assert held.checkpoint == {"page": 3}
    assert held.lease_until.tzinfo is not None


def test_nothing_is_claimed_before_its_time_nor_from_another_queue_nor_twice(store: claims.Claims) -> None:
    queue_run(available_at=clock.now() + dt.timedelta(minutes=1))
    queue_run(queue="slow")
    for status in ("running", "succeeded", "failed", "dead", "cancelled"):
        queue_run(status=status)

    assert store.claim(WANTED) is None
    assert store.due("default") is False
    assert store.due("slow") is True


def test_a_claim_with_a_watermark_looks_only_from_there_on(store: claims.Claims) -> None:
    _, later = queue_runs(2)

    held = store.claim(Wanted(queue="default", worker="w1", watermark=later.available_at))

    assert held is not None
    assert held.id == later.pk


def test_the_watermark_admits_rows_due_at_that_very_moment_in_whole_seconds(store: claims.Claims) -> None:
    """dbos-py #768: text datetimes of different length must not hide each other."""
    moment = clock.now().replace(microsecond=0) - dt.timedelta(minutes=1)
    first, second = queue_runs(2, available_at=moment)
    held = store.claim(WANTED)
    assert held is not None

    following = store.claim(Wanted(queue="default", worker="w1", watermark=held.available_at))

    assert following is not None
    assert (held.id, following.id) == (first.pk, second.pk)


def test_one_millisecond_decides_what_is_due_first(store: claims.Claims) -> None:
    """dbos-py #768: deadlines in whole seconds on one database only."""
    moment = clock.now().replace(microsecond=0) - dt.timedelta(minutes=1)
    later = queue_run(available_at=moment + dt.timedelta(milliseconds=1))
    first = queue_run(available_at=moment)

    assert [claim().id, claim().id] == [first.pk, later.pk]


def test_a_replaced_clock_decides_what_is_due_and_how_long_a_lease_lasts(store: claims.Claims) -> None:
    run = queue_run(available_at=clock.now() + dt.timedelta(days=3))
    then = clock.now() + dt.timedelta(days=4)
    assert store.claim(WANTED) is None

    with stopped(then):
        held = store.claim(WANTED)

    assert held is not None
    assert held.id == run.pk
    assert held.lease_until == then + dt.timedelta(seconds=60)


def test_a_finish_records_success_and_takes_the_next(store: claims.Claims) -> None:
    first, second = queue_runs(2)
    held = claim()

    finished, following = store.finish_and_claim(held, {"id": "r-1"}, WANTED)

    assert finished is True
    assert following is not None
    assert following.id == second.pk
    row = Run.objects.get(pk=first.pk)
    assert (row.status, row.outcome, row.attempts, row.result) == ("succeeded", "succeeded", 1, {"id": "r-1"})
    assert (row.lease_until, row.leased_by, row.follow_up) == (None, "", "none")
    assert row.finished_at is not None


def test_a_finish_without_a_next_claims_nothing(store: claims.Claims) -> None:
    queue_runs(2)
    held = claim()

    assert store.finish_and_claim(held, None, None) == (True, None)
    assert facts(held)["result"] is None
    assert Run.objects.filter(status="queued").count() == 1


def test_a_finish_of_the_last_run_answers_that_there_is_no_next(store: claims.Claims) -> None:
    queue_run()
    held = claim()

    assert store.finish_and_claim(held, None, WANTED) == (True, None)


def test_a_lost_finish_changes_nothing_and_its_next_claim_is_valid(store: claims.Claims) -> None:
    """hatchet #2432, solid_queue #589: a late finisher is refused, the outcome is final once."""
    _, second = queue_runs(2)
    held = claim()
    Run.objects.filter(pk=held.id).update(fence=9)
    before = facts(held)

    finished, following = store.finish_and_claim(held, {"late": True}, WANTED)

    assert finished is False
    assert following is not None
    assert following.id == second.pk
    assert facts(held) == before


def test_a_released_run_is_as_due_as_before_and_no_attempt_is_charged(store: claims.Claims) -> None:
    run = queue_run()
    held = claim()

    assert store.release(held) is True

    row = Run.objects.get(pk=run.pk)
    assert (row.status, row.attempts, row.crashes, row.lease_until) == ("queued", 0, 0, None)
    assert row.available_at == run.available_at
    assert claim().fence == 2


def test_a_run_released_with_a_delay_is_due_that_much_later(store: claims.Claims) -> None:
    queue_run()
    held = claim()

    assert store.release(held, dt.timedelta(seconds=30)) is True

    assert store.claim(WANTED) is None
    with stopped(clock.now() + dt.timedelta(seconds=31)):
        assert store.claim(WANTED) is not None


def test_renewing_extends_every_held_lease_and_names_the_lost_ones(store: claims.Claims) -> None:
    """lion-reader PR #917: a heartbeat must not extend another's lease."""
    queue_runs(3)
    kept, taken, finished = claim(), claim(), claim()
    Run.objects.filter(pk=taken.id).update(fence=taken.fence + 1)
    Run.objects.filter(pk=finished.id).update(status="succeeded", lease_until=None)
    before = [facts(taken), facts(finished)]
    expire(kept)

    held = store.renew([kept.proof, taken.proof, finished.proof])

    assert held == {kept.id}
    assert facts(kept)["lease_until"] > clock.now() + dt.timedelta(seconds=50)
    assert [facts(taken), facts(finished)] == before
    assert store.renew([]) == set()


def test_a_checkpoint_is_stored_and_extends_the_lease(store: claims.Claims) -> None:
    queue_run()
    held = claim()
    expire(held)

    assert store.checkpoint(held, {"page": 7}) is True

    row = facts(held)
    assert row["checkpoint"] == {"page": 7}
    assert row["lease_until"] > clock.now() + dt.timedelta(seconds=50)


@pytest.mark.parametrize("vendor", ["oracle"])
def test_a_database_that_cannot_run_effects_is_named(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import connections
    from django.db.utils import NotSupportedError

    monkeypatch.setattr(type(connections[USING]), "vendor", vendor)
    with pytest.raises(NotSupportedError, match="'default' \\(oracle\\) cannot run effects"):
        claims.for_alias(USING)


# Several connections ----------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_many_drains_at_once_claim_every_run_exactly_once() -> None:
    """celery/celery #4400, dbos-py #541, django-background-tasks #113, solid_queue #531: the claim decides."""
    runs = queue_runs(60)

    def take_all() -> list[int]:
        store, taken = claims.for_alias(USING), []
        held = store.claim(WANTED)
        while held is not None:
            taken.append(held.id)
            _, held = store.finish_and_claim(held, None, WANTED)
        return taken

    finishes = race(take_all, take_all, take_all)

    taken = sorted(number for finish in finishes for number in finish.get())
    assert taken == [run.pk for run in runs]
    assert set(Run.objects.values_list("status", "attempts", "fence")) == {("succeeded", 1, 1)}


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgres
def test_a_run_in_an_open_transaction_is_passed_over_and_its_heartbeat_waits_for_nobody() -> None:
    """solid_queue #350: the heartbeat must not queue up behind a row's lock."""
    from django.db import connections, transaction

    first, second = queue_runs(2)
    held = claim()
    other = claim()
    locked, done = threading.Event(), threading.Event()

    def hold_lock() -> None:
        with transaction.atomic():
            Run.objects.select_for_update().get(pk=first.pk)
            locked.set()
            assert done.wait(20)
        connections.close_all()

    thread = threading.Thread(target=hold_lock)
    thread.start()
    try:
        assert locked.wait(20)
        assert claims.for_alias(USING).renew([held.proof, other.proof]) == {first.pk, second.pk}
        third = queue_run(an_entry())
        assert claim().id == third.pk
    finally:
        done.set()
        thread.join(20)
