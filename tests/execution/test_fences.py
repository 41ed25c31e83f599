"""Every write of a worker, against everything that may have happened to its run meanwhile: nothing is written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from lifecycle import SYSTEM, clock
from lifecycle.exceptions import LeaseLost
from lifecycle.execution import attempts, crashes
from lifecycle.execution.drain import drain
from lifecycle.models import Run, RunAttempt, TransitionLog
from lifecycle.operations import cancel_run, retry_run
from lifecycle.runtime import create, fire
from lifecycle.store import claims, lost_leases, outcomes, pending_follow_ups
from lifecycle.store.claims import ClaimedRun, Wanted
from lifecycle.store.lost_leases import Crash
from lifecycle.store.outcomes import Failure
from tests.execution.rows import USING, claim, expire, facts, queue_run
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db

FAILURE = Failure(kind="error", error="late")


def later() -> dt.datetime:
    return clock.now() + dt.timedelta(seconds=5)


WRITES: dict[str, Callable[[ClaimedRun], Any]] = {
    "finish_and_claim": lambda held: claims.for_alias(USING).finish_and_claim(held, {"late": True}, None)[0],
    "finish_and_claim the next": lambda held: claims.for_alias(USING).finish_and_claim(
        held, {"late": True}, Wanted(queue="none", worker="w")
    )[0],
    "release": lambda held: claims.for_alias(USING).release(held),
    "release later": lambda held: claims.for_alias(USING).release(held, dt.timedelta(seconds=9)),
    "renew": lambda held: claims.for_alias(USING).renew([held.proof]),
    "checkpoint": lambda held: claims.for_alias(USING).checkpoint(held, {"late": True}),
    "succeed": lambda held: outcomes.succeed(held, {"late": True}, clock.now(), USING, follow_up=True),
    "fail": lambda held: outcomes.fail(held, FAILURE, clock.now(), USING, follow_up=True),
    "time out": lambda held: outcomes.fail(held, FAILURE, clock.now(), USING, follow_up=True, bump=True),
    "retry": lambda held: outcomes.retry(held, FAILURE, later(), clock.now(), USING),
    "record_gone": lambda held: outcomes.record_gone(held, clock.now(), USING, follow_up=True),
    "stay_ended": lambda held: outcomes.stay_ended(held, clock.now(), USING),
    "interrupted": lambda held: outcomes.interrupted(held, Crash(available_at=later(), error="x"), clock.now(), USING),
}


def swept(held: ClaimedRun) -> None:
    expire(held)
    assert crashes.take_back(USING).queued == 1


def reclaimed(held: ClaimedRun) -> None:
    swept(held)
    Run.objects.filter(pk=held.id).update(available_at=clock.now())
    assert claim("another").id == held.id


def finished(held: ClaimedRun) -> None:
    assert claims.for_alias(USING).finish_and_claim(held, {"first": True}, None)[0]


def cancelled(held: ClaimedRun) -> None:
    run = Run.objects.get(pk=held.id)
    cancel_run(run, actor=SYSTEM, reason="stop it", force=True)


def deleted(held: ClaimedRun) -> None:
    Run.objects.filter(pk=held.id).delete()


EVENTS = [swept, reclaimed, finished, cancelled, deleted]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
@pytest.mark.parametrize("write", WRITES)
def test_a_worker_that_lost_its_lease_writes_nothing(write: str, event: Callable[[ClaimedRun], None]) -> None:
    """river #1302, solid_queue #589, django-ox PR #16, django-logic PR #218, lion-reader PR #917, oban #1496."""
    queue_run()
    held = claim()
    event(held)
    before = list(Run.objects.values()), list(RunAttempt.objects.values())

    assert not WRITES[write](held)

    assert (list(Run.objects.values()), list(RunAttempt.objects.values())) == before


@pytest.mark.parametrize("write", WRITES)
def test_the_same_write_of_the_holder_is_written(write: str) -> None:
    queue_run()
    held = claim()
    before = facts(held)

    assert WRITES[write](held)

    assert facts(held) != before


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_an_effect_whose_run_was_taken_meanwhile_leads_to_nothing(
    event: Callable[[ClaimedRun], None], fails: bool, behave: dict[str, Any]
) -> None:
    """hatchet #2432: a finish refused, no follow-up fired, no attempt noted."""
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    held = claim()
    seen: list[Any] = []

    def effect(ctx: Any) -> dict[str, Any]:
        event(held)
        seen.extend([list(Run.objects.values()), list(RunAttempt.objects.values())])
        if fails:
            raise ValueError("late")
        return {"label": "late"}

    behave["print_label"] = effect

    with pytest.raises(LeaseLost):
        attempts.perform(held, USING, lambda: None)

    assert [list(Run.objects.values()), list(RunAttempt.objects.values())] == seen
    parcel.refresh_from_db()
    assert (parcel.status, parcel.label) == ("labelling", "")
    assert TransitionLog.objects.count() == 2


def test_an_atomic_effect_whose_run_was_taken_meanwhile_leaves_none_of_its_writes() -> None:
    parcel = create(Parcel(status="packed"), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    assert drain().done == 1
    fire(parcel, "scan", actor=SYSTEM)
    held = claim()
    Run.objects.filter(pk=held.id).update(fence=held.fence + 1)

    with pytest.raises(LeaseLost):
        attempts.perform(held, USING, lambda: None)

    parcel.refresh_from_db()
    assert parcel.scans == 0


def test_a_heartbeat_of_a_lost_run_tells_the_effect_and_ends_it(behave: dict[str, Any]) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    held = claim()
    reached = []

    def effect(ctx: Any) -> None:
        cancelled(held)
        ctx.heartbeat(checkpoint={"page": 1})
        reached.append("after the heartbeat")

    behave["print_label"] = effect

    with pytest.raises(LeaseLost):
        attempts.perform(held, USING, lambda: None)

    assert reached == []
    assert Run.objects.get(pk=held.id).checkpoint is None


# Those who take a run from its worker -----------------------------------------------------------


def taken_for_a_retry(held: ClaimedRun) -> None:
    retry_run(Run.objects.get(pk=held.id), actor=SYSTEM, reason="it hangs", force=True)


@pytest.mark.parametrize("event", [swept, cancelled, taken_for_a_retry], ids=lambda event: event.__name__)
def test_whoever_takes_a_run_from_its_worker_takes_the_fence_with_it(event: Callable[[ClaimedRun], None]) -> None:
    """Not the status alone: a run that comes back to running must not look like the old one to the old worker."""
    queue_run()
    held = claim()

    event(held)

    assert Run.objects.get(pk=held.id).fence > held.fence


def test_a_sweep_leaves_a_run_alone_that_was_claimed_again_since_it_looked() -> None:
    """dbos/dbos-transact-py #742: the fence it read is gone, and that decides, even if the new lease is over too."""
    queue_run()
    reclaimed_by = claim()
    expire(reclaimed_by)
    seen = Run.objects.get(pk=reclaimed_by.id)
    reclaimed(reclaimed_by)
    expire(reclaimed_by)
    before = facts(seen)

    assert not lost_leases.crash(seen, Crash(available_at=later(), error="x"), clock.now(), USING)

    assert facts(seen) == before
    assert RunAttempt.objects.count() == 1


@pytest.mark.parametrize(
    ("event", "expected"), [(None, "held"), (finished, "recorded"), (reclaimed, "lost"), (deleted, "lost")]
)
def test_a_worker_that_asks_after_a_lost_answer_recognises_its_own_start_only(
    event: Callable[[ClaimedRun], None] | None, expected: str
) -> None:
    queue_run()
    held = claim()
    if event is not None:
        event(held)

    assert outcomes.standing(held, USING) == expected


SETTLINGS: dict[str, Callable[[int], bool]] = {
    "applied": lambda run_id: pending_follow_ups.applied(run_id, clock.now(), USING),
    "dropped": lambda run_id: pending_follow_ups.dropped(run_id, "x", clock.now(), USING),
    "none": lambda run_id: pending_follow_ups.none(run_id, clock.now(), USING),
    "postponed": lambda run_id: pending_follow_ups.postponed(run_id, later(), "x", clock.now(), USING, refused=True),
    "abandoned": lambda run_id: pending_follow_ups.abandoned(run_id, "x", clock.now(), USING),
}


@pytest.mark.parametrize("settled", ["none", "applied", "dropped"])
@pytest.mark.parametrize("write", SETTLINGS)
def test_a_follow_up_that_is_settled_is_not_settled_again(write: str, settled: str) -> None:
    run = queue_run(status="succeeded", outcome="succeeded", follow_up=settled)
    before = facts(run)

    assert not SETTLINGS[write](run.pk)

    assert facts(run) == before


@pytest.mark.parametrize("write", SETTLINGS)
def test_a_follow_up_that_waits_is_settled(write: str) -> None:
    run = queue_run(status="succeeded", outcome="succeeded", follow_up="pending")

    assert SETTLINGS[write](run.pk)

    assert facts(run)["follow_up"] == {"postponed": "pending"}.get(write, write)


def test_a_follow_up_that_was_settled_is_not_found_for_another_try() -> None:
    run = queue_run(status="succeeded", outcome="succeeded", follow_up="applied")

    assert pending_follow_ups.lock(run.pk, USING, ["pending", "abandoned"]) is None
