"""What an operator may do about a run, what is refused, and what the refusal advises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import translation

from lifecycle import SYSTEM, Actor, clock
from lifecycle.exceptions import (
    GuardRefused,
    InvalidInput,
    LeaseLost,
    LifecycleError,
    NothingToContinue,
    RunBusy,
    RunSettled,
    UnknownEffect,
)
from lifecycle.execution import attempts
from lifecycle.execution.drain import drain
from lifecycle.models import OperatorAction, Run, TransitionLog
from lifecycle.operations import cancel_run, continue_run, retry_run
from lifecycle.runtime import create, fire, register_guard
from lifecycle.store import claims
from lifecycle.testing import race, travel
from tests.execution.rows import USING, claim, expire, facts, queue_run
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db

OPERATOR = Actor("ops", label="On call")


@pytest.fixture
def closed() -> Iterator[list[str]]:
    """While it holds a reason, labels are not accepted."""
    reasons: list[str] = ["Not yet."]
    unregister = register_guard("parcels", "labelled", lambda ctx: reasons[0] if reasons else True)
    yield reasons
    unregister()


def failing(ctx: Any) -> None:
    raise ConnectionError("down")


def failed_refund(behave: dict[str, Any]) -> Run:
    """A run that failed for good; nothing follows it."""
    fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM)
    working, behave["refund_postage"] = behave["refund_postage"], failing
    drain()
    behave["refund_postage"] = working
    return Run.objects.get()


def failed_label(behave: dict[str, Any]) -> Run:
    """A run that failed for good and moved its record."""
    fire(create(Parcel(), actor=SYSTEM), "send", actor=SYSTEM)
    Run.objects.update(max_attempts=1)
    working, behave["print_label"] = behave["print_label"], failing
    drain()
    behave["print_label"] = working
    return Run.objects.get()


def untouched(run: Run, before: dict[str, Any]) -> bool:
    return facts(run) == before and not OperatorAction.objects.exists()


# Retry ------------------------------------------------------------------------------------------


def test_a_failed_run_runs_again_under_the_same_key_and_the_operator_action_is_kept(behave: dict[str, Any]) -> None:
    """django-tasks-db #7, celery/django-celery-results #252: a button, and what happened is kept."""
    run = failed_refund(behave)
    key = run.idempotency_key

    answer = retry_run(run, actor=OPERATOR, reason="The bank is back.")

    assert (answer.status, answer.attempts, answer.max_attempts, answer.error) == ("queued", 1, 2, "")
    assert (answer.outcome, answer.finished_at, answer.follow_up) == ("", None, "none")
    assert drain().done == 1
    run.refresh_from_db()
    assert (run.status, run.attempts, run.idempotency_key) == ("succeeded", 2, key)
    operator_action = OperatorAction.objects.get()
    assert (operator_action.action, operator_action.run_id, operator_action.forced, operator_action.reason) == (
        "retry",
        run.pk,
        False,
        "The bank is back.",
    )
    assert (operator_action.actor_kind, operator_action.actor_id, operator_action.actor_label) == (
        "machine",
        "ops",
        "On call",
    )
    assert (operator_action.lifecycle, operator_action.record_id) == (run.lifecycle, run.record_id)
    assert (operator_action.before["status"], operator_action.before["error"]) == ("failed", "ConnectionError: down")


def test_a_user_who_retries_is_named_in_the_audit_row(behave: dict[str, Any]) -> None:
    user = User.objects.create_user("ada")

    retry_run(failed_refund(behave), actor=user)

    assert OperatorAction.objects.values_list("actor_kind", "actor_id", "actor_label").get() == (
        "user",
        str(user.pk),
        "ada",
    )


def test_nobody_is_no_operator(behave: dict[str, Any]) -> None:
    run = failed_refund(behave)
    before = facts(run)

    for operation in (retry_run, continue_run, cancel_run):
        with pytest.raises(TypeError, match="actor"):
            operation(run, actor=None)

    assert untouched(run, before)


def test_a_retry_starts_the_pauses_anew(behave: dict[str, Any]) -> None:
    run = failed_label(behave)
    Run.objects.update(attempts=5, max_attempts=5)
    retry_run(run, actor=OPERATOR, reason="again", force=True)
    behave["print_label"] = failing
    now = clock.now()

    with clock.replaced(lambda: now):
        Run.objects.update(available_at=now)
        drain()

    run.refresh_from_db()
    assert (run.status, run.attempts, run.max_attempts) == ("queued", 6, 8)
    assert (run.available_at - now).total_seconds() == 2


def test_a_dead_run_may_crash_as_often_again(behave: dict[str, Any]) -> None:
    run = failed_refund(behave)
    Run.objects.update(status="dead", crashes=3, max_crashes=3)

    answer = retry_run(run, actor=OPERATOR)

    assert (answer.crashes, answer.max_crashes) == (3, 6)


def test_a_cancelled_run_may_be_retried() -> None:
    run = queue_run()
    cancel_run(run, actor=OPERATOR)

    assert retry_run(run, actor=OPERATOR).status == "queued"


def test_a_run_that_led_somewhere_is_settled_and_only_force_with_a_reason_runs_it_again(
    behave: dict[str, Any],
) -> None:
    run = failed_label(behave)
    before = facts(run)
    assert before["follow_up"] == "applied"

    with pytest.raises(RunSettled, match="force, with a reason"):
        retry_run(run, actor=OPERATOR)
    with pytest.raises(InvalidInput, match="Force needs a reason"):
        retry_run(run, actor=OPERATOR, force=True)
    assert untouched(run, before)

    retry_run(run, actor=OPERATOR, reason="The printer was off.", force=True)

    assert OperatorAction.objects.get().forced is True


def test_a_forced_run_that_fails_again_moves_the_record_no_second_time(behave: dict[str, Any]) -> None:
    run = failed_label(behave)
    retry_run(run, actor=OPERATOR, reason="again", force=True)
    Run.objects.update(max_attempts=2)
    behave["print_label"] = failing
    entries = TransitionLog.objects.count()

    drain()

    run.refresh_from_db()
    assert (run.status, run.attempts) == ("failed", 2)
    assert run.follow_up in ("applied", "dropped")
    assert TransitionLog.objects.count() == entries


@pytest.mark.parametrize("follow_up", ["pending", "abandoned"])
def test_a_waiting_follow_up_is_continued_rather_than_the_run_retried(behave: dict[str, Any], follow_up: str) -> None:
    run = failed_refund(behave)
    Run.objects.update(follow_up=follow_up)

    with pytest.raises(RunSettled, match="use Continue"):
        retry_run(run, actor=OPERATOR)


def test_a_succeeded_run_is_never_retried() -> None:
    fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM)
    drain()
    run = Run.objects.get()

    with pytest.raises(RunSettled, match="Fire the transition"):
        retry_run(run, actor=OPERATOR, reason="x", force=True)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("follow_up", ["pending", "abandoned"])
def test_a_succeeded_run_whose_follow_up_waits_is_to_be_continued(follow_up: str, force: bool) -> None:
    fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM)
    drain()
    Run.objects.update(follow_up=follow_up)
    run = Run.objects.get()
    before = facts(run)

    with pytest.raises(RunSettled) as caught:
        retry_run(run, actor=OPERATOR, reason="x", force=force)

    assert str(caught.value) == (
        "This run succeeded; it is not run again. What is left to do is its follow-up: use Continue."
    )
    assert untouched(run, before)


def test_a_queued_run_is_not_retried() -> None:
    with pytest.raises(RunBusy, match="queued already") as caught:
        retry_run(queue_run(), actor=OPERATOR)

    assert caught.value.code == "run_queued"


@pytest.mark.parametrize("unknown", [{"lifecycle": "gone"}, {"effect": "gone"}])
def test_a_run_this_process_does_not_know_is_not_queued_from_here(
    behave: dict[str, Any], unknown: dict[str, str]
) -> None:
    run = failed_refund(behave)
    Run.objects.update(**unknown)
    before = facts(run)

    with pytest.raises(UnknownEffect, match="“gone”"):
        retry_run(run, actor=OPERATOR)

    assert untouched(run, before)


@pytest.mark.parametrize("operation", [retry_run, cancel_run])
def test_a_run_in_a_workers_hands_is_busy(operation: Any) -> None:
    """django-logic PR #216, #210: an operator was told to complete what a worker held."""
    run = queue_run()
    claim("worker-7")
    before = facts(run)

    with pytest.raises(RunBusy, match="worker-7 is working on this run"):
        operation(run, actor=OPERATOR)

    assert untouched(run, before)


@pytest.mark.parametrize(("operation", "status"), [(retry_run, "queued"), (cancel_run, "cancelled")])
def test_force_takes_a_run_from_its_worker_whose_outcome_is_then_discarded(operation: Any, status: str) -> None:
    """graphile/worker #204, #222, PR #374: unlocking and failing, fenced."""
    run = queue_run()
    held = claim()

    answer = operation(run, actor=OPERATOR, reason="It hangs.", force=True)

    assert (answer.status, answer.lease_until, answer.leased_by) == (status, None, "")
    assert claims.for_alias(USING).finish_and_claim(held, None, None)[0] is False
    assert OperatorAction.objects.get().before["leased_by"] == "tester"


@pytest.mark.parametrize(("operation", "status"), [(retry_run, "queued"), (cancel_run, "cancelled")])
def test_a_run_whose_lease_is_over_needs_no_force(operation: Any, status: str) -> None:
    run = queue_run()
    expire(claim())

    assert operation(run, actor=OPERATOR).status == status


# Cancel -----------------------------------------------------------------------------------------


def test_a_cancelled_run_is_not_done_and_leads_to_nothing(behave: dict[str, Any]) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    run = Run.objects.get()

    answer = cancel_run(run, actor=OPERATOR, reason="wrong parcel")

    assert (answer.status, answer.outcome, answer.follow_up) == ("cancelled", "", "none")
    assert answer.finished_at is not None
    assert drain().done == 0
    parcel.refresh_from_db()
    assert parcel.status == "labelling"
    assert OperatorAction.objects.get().action == "cancel"


@pytest.mark.parametrize("status", ["succeeded", "failed", "dead", "cancelled"])
def test_a_finished_run_is_not_cancelled(status: str) -> None:
    run = queue_run(status=status)
    before = facts(run)

    with pytest.raises(RunSettled, match=f"finished \\({status.title()}\\)"):
        cancel_run(run, actor=OPERATOR, reason="x", force=True)

    assert untouched(run, before)


def test_a_run_cancelled_by_force_in_the_middle_of_its_effect_stays_cancelled(behave: dict[str, Any]) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)

    def effect(ctx: Any) -> dict[str, Any]:
        cancel_run(ctx.run, actor=OPERATOR, reason="stop", force=True)
        return {"label": "L"}

    behave["print_label"] = effect

    with pytest.raises(LeaseLost):
        attempts.perform(claim(), USING, lambda: None)

    parcel.refresh_from_db()
    assert (Run.objects.get().status, parcel.status) == ("cancelled", "labelling")


@pytest.mark.django_db(transaction=True)
def test_a_cancel_and_a_finish_at_once_leave_one_of_them() -> None:
    for _ in range(5):
        Run.objects.all().delete()
        run = queue_run()
        held = claim()

        finish, cancel = race(
            lambda held=held: claims.for_alias(USING).finish_and_claim(held, {"done": True}, None)[0],
            lambda run=run: cancel_run(run, actor=OPERATOR, reason="stop", force=True).status,
        )

        run.refresh_from_db()
        if finish.get():
            assert isinstance(cancel.error, RunSettled)
            assert run.status == "succeeded"
        else:
            assert cancel.get() == "cancelled"
            assert (run.status, run.result) == ("cancelled", None)


# Continue ---------------------------------------------------------------------------------------


def waiting(closed: list[str]) -> Run:
    fire(create(Parcel(), actor=SYSTEM), "send", actor=SYSTEM)
    drain()
    run = Run.objects.get()
    assert run.follow_up == "pending"
    return run


@pytest.mark.parametrize("state", ["pending", "abandoned"])
def test_a_follow_up_is_continued_once_its_reason_is_gone(closed: list[str], state: str) -> None:
    run = waiting(closed)
    Run.objects.update(follow_up=state)
    closed.clear()

    answer = continue_run(run, actor=OPERATOR, reason="label stock is back")

    assert (answer.follow_up, answer.status, answer.attempts) == ("applied", "succeeded", 1)
    assert Parcel.objects.get().status == "sent"
    operator_action = OperatorAction.objects.get()
    assert (operator_action.action, operator_action.reason, operator_action.before["follow_up"]) == (
        "continue",
        "label stock is back",
        state,
    )


@pytest.mark.parametrize(("state", "after"), [("pending", "pending"), ("abandoned", "abandoned")])
def test_a_follow_up_that_is_refused_again_says_why_and_the_try_is_kept(
    closed: list[str], state: str, after: str
) -> None:
    run = waiting(closed)
    Run.objects.update(follow_up=state)

    with pytest.raises(GuardRefused, match="Not yet"):
        continue_run(run, actor=OPERATOR)

    run.refresh_from_db()
    assert (run.follow_up, run.follow_up_tries) == (after, 2)
    assert OperatorAction.objects.get().action == "continue"


def test_continuing_what_the_record_left_behind_drops_it(closed: list[str]) -> None:
    run = waiting(closed)
    fire(Parcel.objects.get(), "take_back", actor=SYSTEM)

    assert continue_run(run, actor=OPERATOR).follow_up == "dropped"


@pytest.mark.parametrize("follow_up", ["none", "applied", "dropped"])
def test_a_run_without_a_waiting_follow_up_has_nothing_to_continue(behave: dict[str, Any], follow_up: str) -> None:
    run = failed_refund(behave)
    Run.objects.update(follow_up=follow_up)
    before = facts(run)

    with pytest.raises(NothingToContinue, match="retry the run"):
        continue_run(run, actor=OPERATOR)

    assert untouched(run, before)


def test_a_follow_up_of_an_unknown_effect_is_not_continued_here(closed: list[str]) -> None:
    run = waiting(closed)
    Run.objects.update(effect="gone")

    with pytest.raises(UnknownEffect):
        continue_run(run, actor=OPERATOR)


# All --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", [None, 7, "x" * 501, "NUL \x00"])
@pytest.mark.parametrize("operation", [retry_run, continue_run, cancel_run])
def test_a_reason_that_cannot_be_kept_is_refused(operation: Any, reason: Any) -> None:
    run = queue_run()
    before = facts(run)

    with pytest.raises(InvalidInput, match="The reason ") as caught:
        operation(run, actor=OPERATOR, reason=reason)

    assert caught.value.problems[0].field == "reason"
    assert untouched(run, before)


@pytest.mark.parametrize("operation", [retry_run, continue_run, cancel_run])
def test_a_run_that_retention_took_is_gone(operation: Any) -> None:
    run = queue_run()
    Run.objects.filter(pk=run.pk).delete()

    with pytest.raises(RunSettled, match="is gone"):
        operation(run, actor=OPERATOR)


def test_an_operation_that_is_rolled_back_leaves_no_audit_row(behave: dict[str, Any]) -> None:
    from django.db import transaction

    run = failed_refund(behave)

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        retry_run(run, actor=OPERATOR)
        raise ZeroDivisionError

    run.refresh_from_db()
    assert run.status == "failed"
    assert not OperatorAction.objects.exists()
    with travel(seconds=1):
        assert drain().done == 0


def test_what_an_operator_is_refused_is_said_in_their_language() -> None:
    """The admin, REST and the command all show these sentences as they are."""
    fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM)
    drain()
    run = Run.objects.get()

    def said(operation: Any, **more: Any) -> str:
        with pytest.raises(LifecycleError) as caught, translation.override("de"):
            operation(run, actor=OPERATOR, **more)
        return str(caught.value)

    assert said(retry_run).startswith("Dieser Lauf ist gelungen; er wird nicht wiederholt.")
    assert said(cancel_run).startswith("Dieser Lauf ist beendet (Gelungen)")
    assert said(continue_run).startswith("Dieser Lauf hat keine wartende Folge (Status: Gelungen, Folge: ")
    assert said(retry_run, force=True).startswith("Erzwingen braucht einen Grund")
