"""What becomes of the transition an outcome asks for; the outcome itself always stays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction

from lifecycle import SYSTEM, clock
from lifecycle.exceptions import Conflict, RecordNotFound, WrongState
from lifecycle.execution import follow_ups
from lifecycle.execution.drain import drain
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create, fire, register_guard
from lifecycle.testing import force_state, race
from tests.execution.rows import USING, stopped
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db

Answer = Callable[[Any], Any]


@pytest.fixture
def guard() -> Iterator[list[Answer]]:
    """What is asked before a label is accepted; tests put their answer in."""
    answers: list[Answer] = []
    asked: list[Answer] = []

    def ask(ctx: Any) -> Any:
        asked.append(ctx)
        return answers[0](ctx) if answers else True

    unregister = register_guard("parcels", "labelled", ask)
    yield answers
    unregister()


@pytest.fixture
def parcel() -> Parcel:
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "send", actor=SYSTEM)
    return record


def the_run() -> Run:
    return Run.objects.get()


def raising(error: BaseException) -> Answer:
    def answer(ctx: Any) -> Any:
        raise error

    return answer


def test_a_refused_follow_up_waits_and_the_outcome_stays(parcel: Parcel, guard: list[Answer]) -> None:
    guard.append(lambda ctx: "Not yet.")
    now = clock.now()

    with stopped(now):
        drain()

    run = the_run()
    assert (run.status, run.outcome, run.result) == ("succeeded", "succeeded", {"label": "L-1"})
    assert (run.follow_up, run.follow_up_tries) == ("pending", 1)
    assert run.follow_up_due_at == now + dt.timedelta(minutes=1)
    assert "Not yet." in run.follow_up_error
    parcel.refresh_from_db()
    assert parcel.status == "labelling"


def test_a_waiting_follow_up_applies_once_the_reason_is_gone_and_the_effect_does_not_run_again(
    parcel: Parcel, guard: list[Answer], behave: dict[str, Any]
) -> None:
    """get-convex/workflow #38: what was paid for is not done again."""
    guard.append(lambda ctx: "Not yet.")
    drain()
    behave["print_label"] = raising(AssertionError("the effect ran again"))
    guard.clear()

    tried = follow_ups.apply(the_run().pk, USING)

    assert (tried.status, tried.error) == ("applied", None)
    run = the_run()
    assert (run.follow_up, run.follow_up_due_at, run.follow_up_error) == ("applied", None, "")
    parcel.refresh_from_db()
    assert (parcel.status, parcel.label) == ("sent", "L-1")


def test_pauses_between_refusals_double_up_to_an_hour_and_the_tenth_gives_up(
    parcel: Parcel, guard: list[Answer]
) -> None:
    guard.append(lambda ctx: False)
    moment = clock.now()
    with stopped(moment):
        drain()
    pauses = []
    for _ in range(9):
        due = the_run().follow_up_due_at
        assert due is not None
        pauses.append((due - moment).total_seconds() / 60)
        moment = due
        with stopped(moment):
            follow_ups.apply(the_run().pk, USING)

    run = the_run()
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert (run.follow_up, run.follow_up_tries, run.follow_up_due_at) == ("abandoned", 10, None)
    assert run.status == "succeeded"
    assert follow_ups.apply(run.pk, USING).status is None


def test_an_abandoned_follow_up_is_tried_for_an_operator_and_stays_abandoned_until_it_applies(
    parcel: Parcel, guard: list[Answer]
) -> None:
    guard.append(lambda ctx: False)
    drain()
    Run.objects.update(follow_up="abandoned", follow_up_due_at=None)

    assert follow_ups.apply(the_run().pk, USING, by_operator=True).status == "abandoned"
    guard.clear()
    assert follow_ups.apply(the_run().pk, USING, by_operator=True).status == "applied"

    parcel.refresh_from_db()
    assert parcel.status == "sent"


def test_a_follow_up_whose_record_moved_on_is_dropped_with_the_reason(parcel: Parcel, behave: dict[str, Any]) -> None:
    def effect(ctx: Any) -> dict[str, Any]:
        fire(ctx.record, "take_back", actor=SYSTEM)
        return {"label": "too late"}

    behave["print_label"] = effect

    drain(runs=1)

    run = Run.objects.earliest("id")
    assert (run.status, run.follow_up, run.follow_up_due_at) == ("succeeded", "dropped", None)
    assert run.follow_up_error
    parcel.refresh_from_db()
    assert (parcel.status, parcel.label) == ("returned", "")


def test_a_follow_up_of_an_earlier_visit_does_not_apply_to_a_later_one(parcel: Parcel, behave: dict[str, Any]) -> None:
    """oban #1018: the stay that enqueued it is over, though the state is the same."""

    def effect(ctx: Any) -> dict[str, Any]:
        if ctx.run.pk == first.pk:
            fire(ctx.record, "label_failed", actor=SYSTEM)
            fire(ctx.record, "send", actor=SYSTEM)
        return {"label": f"of run {ctx.run.pk}"}

    first = the_run()
    behave["print_label"] = effect

    drain(runs=1)

    first.refresh_from_db()
    parcel.refresh_from_db()
    assert (first.follow_up, parcel.status, parcel.label) == ("dropped", "labelling", "")
    drain()
    parcel.refresh_from_db()
    assert parcel.status == "sent"
    assert parcel.label != f"of run {first.pk}"


@pytest.mark.parametrize(
    "error",
    [
        WrongState("The order is not paid.", lifecycle="orders", record_id="7", transition="ship"),
        RecordNotFound("There is no order.", lifecycle="orders", record_id="7"),
    ],
)
def test_the_same_answer_from_nested_work_is_a_refusal_and_waits(
    parcel: Parcel, guard: list[Answer], error: Exception
) -> None:
    guard.append(raising(error))

    drain()

    run = the_run()
    assert (run.status, run.follow_up, run.follow_up_tries) == ("succeeded", "pending", 1)


def test_a_conflict_is_tried_again_at_once(parcel: Parcel, guard: list[Answer]) -> None:
    tries = []

    def answer(ctx: Any) -> bool:
        tries.append(1)
        if len(tries) < 3:
            raise Conflict("Somebody was faster.")
        return True

    guard.append(answer)

    drain()

    assert (the_run().follow_up, len(tries)) == ("applied", 3)


def test_a_lasting_conflict_waits_a_moment_and_is_never_counted(parcel: Parcel, guard: list[Answer]) -> None:
    guard.append(raising(Conflict("Somebody was faster.")))
    now = clock.now()

    with stopped(now):
        drain()
        for _ in range(12):
            follow_ups.apply(the_run().pk, USING)

    run = the_run()
    assert (run.follow_up, run.follow_up_tries) == ("pending", 0)
    assert run.follow_up_due_at == now + dt.timedelta(seconds=5)


def test_exceptions_wait_ever_longer_but_never_lead_to_giving_up(parcel: Parcel, guard: list[Answer]) -> None:
    guard.append(raising(ZeroDivisionError("a bug in a hook\x00")))
    moment = clock.now()
    with stopped(moment):
        drain()
    pauses = []
    for _ in range(14):
        due = the_run().follow_up_due_at
        assert due is not None
        pauses.append((due - moment).total_seconds() / 60)
        moment = due
        with stopped(moment):
            follow_ups.apply(the_run().pk, USING)

    run = the_run()
    assert pauses[:7] == [1, 1, 2, 4, 8, 16, 32]
    assert pauses[7:] == [60] * 7
    assert (run.status, run.follow_up, run.follow_up_tries) == ("succeeded", "pending", 0)


def test_what_a_failed_try_wrote_is_gone_and_the_outcome_is_not(parcel: Parcel, guard: list[Answer]) -> None:
    def answer(ctx: Any) -> bool:
        Parcel.objects.filter(pk=parcel.pk).update(problem="half done")
        raise ZeroDivisionError

    guard.append(answer)

    drain()

    parcel.refresh_from_db()
    assert (parcel.problem, the_run().status) == ("", "succeeded")


def test_a_follow_up_that_was_fired_already_is_not_fired_again(parcel: Parcel) -> None:
    """Its request id is `$run:<id>:<outcome>`: the repeat finds the entry."""
    drain()
    Run.objects.update(follow_up="pending", follow_up_due_at=clock.now())
    entries = TransitionLog.objects.count()

    assert follow_ups.apply(the_run().pk, USING).status == "applied"

    assert TransitionLog.objects.count() == entries


def test_the_pending_follow_up_of_a_deleted_record_is_dropped(parcel: Parcel, guard: list[Answer]) -> None:
    guard.append(lambda ctx: False)
    drain()
    Parcel.objects.filter(pk=parcel.pk).delete()

    assert follow_ups.apply(the_run().pk, USING).status == "dropped"


def test_a_process_that_does_not_know_the_effect_leaves_the_follow_up_to_another(
    parcel: Parcel, guard: list[Answer]
) -> None:
    guard.append(lambda ctx: False)
    drain()
    Run.objects.update(effect="renamed")

    assert follow_ups.apply(the_run().pk, USING).status == "pending"

    assert the_run().follow_up_tries == 1
    assert "renamed" in the_run().follow_up_error


def test_a_hook_that_ends_the_process_costs_the_follow_up_not_the_outcome(parcel: Parcel, guard: list[Answer]) -> None:
    guard.append(raising(KeyboardInterrupt()))

    with pytest.raises(KeyboardInterrupt):
        drain()

    assert (the_run().status, the_run().follow_up) == ("succeeded", "pending")
    with pytest.raises(KeyboardInterrupt):
        follow_ups.apply(the_run().pk, USING)
    due = the_run().follow_up_due_at
    assert due is not None
    assert due > clock.now() + dt.timedelta(seconds=50)


def test_an_outcome_without_a_follow_up_in_the_definition_has_none(parcel: Parcel) -> None:
    drain()
    Run.objects.update(follow_up="pending", outcome="", follow_up_due_at=clock.now())

    assert follow_ups.apply(the_run().pk, USING).status == "none"


@pytest.mark.django_db(transaction=True)
def test_when_the_follow_ups_transaction_breaks_the_outcome_is_recorded_alone(
    parcel: Parcel, guard: list[Answer]
) -> None:
    def answer(ctx: Any) -> bool:
        transaction.get_connection().close()  # as a database that goes away in the middle of a hook
        return True

    guard.append(answer)

    assert drain().done == 1

    run = the_run()
    assert (run.status, run.result, run.attempts) == ("succeeded", {"label": "L-1"}, 1)
    assert run.follow_up == "pending"


@pytest.mark.django_db(transaction=True)
def test_two_sweeps_at_once_apply_a_follow_up_once(parcel: Parcel, guard: list[Answer]) -> None:
    """dbos-py #742: only the write that won acts."""
    guard.append(lambda ctx: False)
    drain()
    guard.clear()
    pk = the_run().pk

    finishes = race(*[lambda: follow_ups.apply(pk, USING).status] * 3)

    assert sorted(str(finish.get()) for finish in finishes) == ["None", "None", "applied"]
    assert TransitionLog.objects.filter(transition="labelled").count() == 1


def test_a_state_forced_by_hand_drops_the_follow_up(parcel: Parcel, guard: list[Answer]) -> None:
    guard.append(lambda ctx: False)
    drain()
    force_state(parcel, "lost")

    assert follow_ups.apply(the_run().pk, USING).status == "dropped"
