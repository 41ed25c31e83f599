"""How a start of a run may end, and what is recorded and fired then."""

from __future__ import annotations

import dataclasses
import datetime as dt
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from lifecycle import SYSTEM, Fail, Permanent, RetryAt, clock
from lifecycle.execution.drain import drain
from lifecycle.execution.effects import EffectWork
from lifecycle.models import Run, RunAttempt, TransitionLog
from lifecycle.runtime import create, fire
from lifecycle.testing import fail_effect, travel
from tests.execution.rows import an_entry, queue_run, queue_runs, stopped
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db


@pytest.fixture
def parcel() -> Parcel:
    """A parcel whose label is pending."""
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "send", actor=SYSTEM)
    return record


def the_run() -> Run:
    run: Run = Run.objects.get()
    return run


def returned() -> Parcel:
    """A parcel that enqueues a refund (no follow-up, one attempt)."""
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "take_back", actor=SYSTEM, input={})
    return record


# Success ----------------------------------------------------------------------------------------


def test_success_records_the_result_and_fires_the_follow_up_with_it(parcel: Parcel) -> None:
    """kmmbvnr/django-fsm #299: the state said sent, and the mail had failed."""
    assert drain().done == 1

    run = the_run()
    assert (run.status, run.outcome, run.result) == ("succeeded", "succeeded", {"label": "L-1"})
    assert (run.follow_up, run.follow_up_due_at, run.attempts, run.lease_until) == ("applied", None, 1, None)
    parcel.refresh_from_db()
    assert (parcel.status, parcel.label) == ("sent", "L-1")
    entry = TransitionLog.objects.latest("id")
    assert (entry.transition, entry.request_id) == ("labelled", f"$run:{run.pk}:succeeded")
    assert (entry.actor_kind, entry.actor_id) == ("system", "system")
    assert not RunAttempt.objects.exists()


@pytest.mark.parametrize("result", [None, [], ["a"], "text", 3, True])
def test_a_result_that_is_no_mapping_is_stored_and_the_follow_up_gets_nothing(
    parcel: Parcel, behave: dict[str, Any], result: Any
) -> None:
    behave["print_label"] = lambda ctx: result

    drain()

    assert (the_run().result, the_run().follow_up) == (result, "applied")
    assert TransitionLog.objects.latest("id").input == {}


@pytest.mark.parametrize(
    ("result", "path"),
    [
        ({"a": [object()]}, "$.a[0]"),
        ({"a": {1, 2}}, "$.a"),
        ({1: "x"}, "$"),
        ({"a": float("nan")}, "$.a"),
        ({"a": "NUL \x00"}, "$.a"),
        ({"a": "\ud800"}, "$.a"),
        ("x" * 70_000, "more than the 65536 allowed"),
        pytest.param(10**5000, "cannot be read", id="huge number"),
    ],
)
@pytest.mark.row("A5")
def test_what_returned_something_that_cannot_be_stored_is_not_called_again(
    parcel: Parcel, behave: dict[str, Any], result: Any, path: str
) -> None:
    behave["print_label"] = lambda ctx: result

    drain()

    run = the_run()
    assert (run.status, run.error_kind, run.attempts, run.result) == ("failed", "invalid_result", 1, None)
    assert path in run.error


# Failure ----------------------------------------------------------------------------------------


def test_an_error_is_tried_again_after_growing_pauses_and_then_failed_for_good(
    parcel: Parcel, behave: dict[str, Any]
) -> None:
    def effect(ctx: Any) -> None:
        raise ConnectionError(f"no answer {ctx.attempt}")

    behave["print_label"] = effect
    moment = clock.now()
    pauses = []
    for _ in range(2):
        with stopped(moment):
            assert drain().done == 1
        run = the_run()
        assert run.status == "queued"
        assert run.outcome == ""
        pauses.append((run.available_at - moment).total_seconds())
        moment = run.available_at
    with stopped(moment):
        assert drain().done == 1

    run = the_run()
    assert pauses == [2, 4]
    assert (run.status, run.outcome, run.attempts) == ("failed", "failed", 3)
    assert (run.error_kind, run.error, run.follow_up) == ("error", "ConnectionError: no answer 3", "applied")
    parcel.refresh_from_db()
    assert (parcel.status, parcel.problem) == ("stuck", "ConnectionError: no answer 3")
    entry = TransitionLog.objects.latest("id")
    assert entry.input == {"error": run.error, "code": "", "details": None}
    assert entry.request_id == f"$run:{run.pk}:failed"
    attempts = list(RunAttempt.objects.values_list("number", "ending", "error"))
    assert attempts == [(n, "failed", f"ConnectionError: no answer {n}") for n in (1, 2, 3)]
    attempt = RunAttempt.objects.latest("id")
    assert "in effect" in attempt.traceback
    assert attempt.worker
    assert attempt.started_at is not None
    assert attempt.ended_at >= attempt.started_at


def test_a_business_no_is_final_at_once_and_its_code_and_details_reach_the_follow_up(
    parcel: Parcel, behave: dict[str, Any]
) -> None:
    """viewflow/viewflow #244, kmmbvnr/django-fsm #131: a failure has a way of its own."""

    def effect(ctx: Any) -> None:
        raise Fail("no_address", "There is no address.", details={"field": "street"})

    behave["print_label"] = effect

    drain()

    run = the_run()
    assert (run.status, run.attempts, run.error_kind) == ("failed", 1, "failed")
    assert (run.error_code, run.error, run.error_details) == ("no_address", "There is no address.", {"field": "street"})
    assert TransitionLog.objects.latest("id").input == {
        "error": "There is no address.",
        "code": "no_address",
        "details": {"field": "street"},
    }


def test_a_business_no_that_asks_for_it_is_tried_again(parcel: Parcel, behave: dict[str, Any]) -> None:
    def effect(ctx: Any) -> None:
        raise Fail("busy", "Come back.", retry=True)

    behave["print_label"] = effect

    drain()

    assert (the_run().status, the_run().error_code) == ("queued", "busy")


def test_details_that_are_no_json_are_left_out_and_the_failure_is_recorded(
    parcel: Parcel, behave: dict[str, Any]
) -> None:
    def effect(ctx: Any) -> None:
        raise Fail("odd" * 100, "Odd.", details={"x": object()})

    behave["print_label"] = effect

    drain()

    run = the_run()
    assert (run.status, run.error_details) == ("failed", {})
    assert run.error_code.startswith("oddodd")
    assert len(run.error_code) <= 100


def test_a_permanent_failure_is_not_tried_again(parcel: Parcel, behave: dict[str, Any]) -> None:
    """Borderless360/django-logic #209, PR #216: a no is not asked again."""

    def effect(ctx: Any) -> None:
        raise Permanent("The account is closed.", code="closed")

    behave["print_label"] = effect

    drain()

    run = the_run()
    assert (run.status, run.attempts, run.error_kind, run.error_code) == ("failed", 1, "permanent", "closed")


@pytest.mark.parametrize("given", ["moment", "duration"])
def test_retry_at_decides_when_the_next_attempt_is_made(parcel: Parcel, behave: dict[str, Any], given: str) -> None:
    now = clock.now()
    when = now + dt.timedelta(hours=3) if given == "moment" else dt.timedelta(hours=3)

    def effect(ctx: Any) -> None:
        raise RetryAt(when)

    behave["print_label"] = effect

    with stopped(now):
        drain()

    assert (the_run().status, the_run().available_at) == ("queued", now + dt.timedelta(hours=3))


def test_retry_at_does_not_go_beyond_the_attempts(behave: dict[str, Any]) -> None:
    returned()

    def effect(ctx: Any) -> None:
        raise RetryAt(dt.timedelta(hours=3))

    behave["refund_postage"] = effect

    drain()

    assert (the_run().status, the_run().max_attempts) == ("failed", 1)


def test_a_retry_at_that_makes_no_sense_waits_the_ordinary_pause(parcel: Parcel, behave: dict[str, Any]) -> None:
    def effect(ctx: Any) -> None:
        raise RetryAt("tomorrow")  # type: ignore[arg-type]

    behave["print_label"] = effect
    now = clock.now()

    with stopped(now):
        drain()

    assert the_run().available_at == now + dt.timedelta(seconds=2)


class NulText(Exception):
    def __str__(self) -> str:
        return "before\x00after"


class HugeText(Exception):
    def __str__(self) -> str:
        return "x" * 10_000_000


class BrokenText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class NoText(Exception):
    def __str__(self) -> str:
        return 7  # type: ignore[return-value]  # noqa: PLE0307 the fault under test


class HalfSurrogate(Exception):
    def __str__(self) -> str:
        return "half \ud800 pair"


class Exotic(BaseException):
    pass


class CrashingText(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


@pytest.mark.parametrize(
    "error", [NulText, HugeText, BrokenText, NoText, HalfSurrogate, Exotic, CrashingText, GeneratorExit, StopIteration]
)
def test_a_failure_is_recorded_whatever_the_error_says(
    parcel: Parcel, behave: dict[str, Any], error: type[BaseException]
) -> None:
    """django-logic PR #183: a NUL byte in an error's text broke the record of the failure."""

    def effect(ctx: Any) -> None:
        raise error

    behave["print_label"] = effect

    assert drain().done == 1

    run = the_run()
    assert run.attempts == 1
    assert run.status in ("queued", "failed")
    assert error.__name__ in run.error
    assert len(run.error) <= 2000
    attempt = RunAttempt.objects.get()
    assert "\x00" not in attempt.error + attempt.traceback
    assert len(attempt.traceback) <= 20_000


def test_a_failure_the_database_refuses_is_recorded_without_its_text(
    parcel: Parcel, behave: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifecycle.execution import failures

    describe = failures._describe

    def unstorable(error: BaseException, effect: Any) -> Any:
        return dataclasses.replace(describe(error, effect), details={"x": object()})

    monkeypatch.setattr(failures, "_describe", unstorable)

    def effect(ctx: Any) -> None:
        raise ValueError

    behave["print_label"] = effect

    drain()

    run = the_run()
    assert (run.status, run.attempts, run.error_kind) == ("queued", 1, "error")
    assert run.error == "The error's own text could not be stored."


def test_secrets_in_an_errors_text_are_cut_out(parcel: Parcel, behave: dict[str, Any]) -> None:
    def effect(ctx: Any) -> None:
        raise ValueError("401 for token=abc123")

    behave["print_label"] = effect

    drain()

    assert "abc123" not in the_run().error + RunAttempt.objects.get().traceback.splitlines()[-1]


def test_one_runs_exception_does_not_end_the_drain(behave: dict[str, Any]) -> None:
    """dbos-py #546, django-tasks #190, jaiminho PR #254: poison stops nobody else."""
    for _ in range(3):
        returned()
    calls = []

    def effect(ctx: Any) -> None:
        calls.append(ctx.record.pk)
        if len(calls) == 2:
            raise Exotic

    behave["refund_postage"] = effect

    report = drain()

    assert (report.done, report.more, len(calls)) == (3, False, 3)
    assert sorted(Run.objects.values_list("status", flat=True)) == ["failed", "succeeded", "succeeded"]


def test_a_later_success_forgets_the_earlier_error(parcel: Parcel) -> None:
    with fail_effect("parcels.print_label"):
        drain()
    assert the_run().error_kind == "error"

    with travel(minutes=1):
        drain()

    run = the_run()
    assert (run.status, run.attempts) == ("succeeded", 2)
    assert (run.error, run.error_kind, run.error_code, run.error_details) == ("", "", "", None)
    assert run.result == {"label": "L-2"}


# What the effect is given -----------------------------------------------------------------------


def test_an_effect_is_given_the_record_as_it_is_now_and_what_enqueued_it(behave: dict[str, Any]) -> None:
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "take_back", actor=SYSTEM, reason="broken")
    Parcel.objects.filter(pk=record.pk).update(problem="written later")
    seen: dict[str, Any] = {}

    def effect(ctx: Any) -> None:
        seen.update(
            record=ctx.record,
            problem=ctx.record.problem,
            edge=(ctx.source, ctx.transition, ctx.target),
            entry=ctx.entry,
            input=ctx.input,
            run=ctx.run,
            attempt=ctx.attempt,
            key=ctx.idempotency_key,
            parameters=ctx.parameters,
            span=ctx.deadline - ctx.now,
            checkpoint=ctx.checkpoint,
            cancelled=ctx.cancelled,
        )

    behave["refund_postage"] = effect

    drain()

    run = the_run()
    assert (seen["record"].pk, seen["problem"]) == (record.pk, "written later")
    assert seen["edge"] == ("packed", "take_back", "returned")
    assert (seen["entry"].reason, seen["input"]) == ("broken", {})
    assert seen["run"] == run
    assert (seen["attempt"], seen["checkpoint"], seen["cancelled"]) == (1, None, False)
    assert uuid.UUID(seen["key"]) == run.idempotency_key
    assert isinstance(seen["key"], str)
    assert seen["parameters"] is None
    assert seen["span"] == dt.timedelta(seconds=60)


def test_the_key_stays_and_the_checkpoint_is_found_by_the_next_attempt(parcel: Parcel, behave: dict[str, Any]) -> None:
    seen = []

    def effect(ctx: Any) -> dict[str, Any]:
        seen.append((ctx.attempt, ctx.idempotency_key, ctx.checkpoint))
        if ctx.attempt == 1:
            ctx.heartbeat({"page": 5})
            assert ctx.checkpoint == {"page": 5}
            raise ConnectionError
        return {"label": "L"}

    behave["print_label"] = effect

    drain()
    with travel(minutes=1):
        drain()

    key = str(the_run().idempotency_key)
    assert seen == [(1, key, None), (2, key, {"page": 5})]


def test_a_checkpoint_that_is_no_json_is_refused_and_names_the_place(parcel: Parcel, behave: dict[str, Any]) -> None:
    def effect(ctx: Any) -> None:
        ctx.heartbeat({"pages": [object()]})

    behave["print_label"] = effect

    drain()

    assert "$.pages[0]" in the_run().error
    assert the_run().checkpoint is None


# Endings without a call -------------------------------------------------------------------------


def test_the_run_of_a_deleted_record_ends_without_an_attempt(parcel: Parcel, behave: dict[str, Any]) -> None:
    called = []
    behave["print_label"] = called.append
    Parcel.objects.filter(pk=parcel.pk).delete()

    assert drain().done == 1

    run = the_run()
    assert (run.status, run.error_kind, run.attempts, run.follow_up) == ("failed", "record_gone", 0, "dropped")
    assert called == []
    assert not RunAttempt.objects.exists()


def test_a_record_deleted_by_its_effect_keeps_the_outcome_and_drops_the_follow_up(
    parcel: Parcel, behave: dict[str, Any]
) -> None:
    def effect(ctx: Any) -> dict[str, Any]:
        Parcel.objects.filter(pk=ctx.record.pk).delete()
        return {"label": "L"}

    behave["print_label"] = effect

    drain()

    run = the_run()
    assert (run.status, run.result, run.follow_up) == ("succeeded", {"label": "L"}, "dropped")
    assert str(parcel.pk) in run.follow_up_error


@pytest.mark.parametrize("unknown", [{"lifecycle": "moved"}, {"effect": "renamed"}])
def test_a_run_this_process_does_not_know_is_put_back_without_an_attempt(unknown: dict[str, str]) -> None:
    """dbos-py PR #750: rolling deploys."""
    queue_run(an_entry(), **unknown)

    report = drain()

    run = the_run()
    assert report.done == 1
    assert report.more is False
    assert (run.status, run.attempts, run.crashes, run.lease_until) == ("queued", 0, 0, None)
    assert run.available_at > clock.now() + dt.timedelta(seconds=15)


# Atomic effects ---------------------------------------------------------------------------------


def scanned() -> Parcel:
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "send", actor=SYSTEM)
    drain()
    fire(record, "scan", actor=SYSTEM)
    return record


def test_an_atomic_effect_commits_with_its_finish() -> None:
    record = scanned()

    drain()

    record.refresh_from_db()
    run = Run.objects.latest("id")
    assert (record.scans, run.status, run.attempts) == (1, "succeeded", 1)


def test_a_failed_atomic_effect_leaves_nothing_but_the_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    record = scanned()

    def broken(*args: Any) -> None:
        raise ValueError("between the effect and its finish")

    monkeypatch.setattr(EffectWork, "succeeded_atomically", broken)

    drain()

    record.refresh_from_db()
    run = Run.objects.latest("id")
    assert (record.scans, run.status, run.error) == (0, "failed", "ValueError: between the effect and its finish")


# Statements -------------------------------------------------------------------------------------


@pytest.mark.skipif(connection.vendor == "mysql", reason="two steps there")
def test_the_hot_path_is_one_read_of_the_record_and_one_finish_and_claim() -> None:
    records = [returned() for _ in range(3)]
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert drain().done == len(records)

    statements = [query["sql"] for query in captured.captured_queries]
    per_run = 2 if connection.vendor == "postgresql" else 3
    assert len(statements) == 1 + len(records) * per_run + 1, statements  # the first claim, the last empty look


def test_an_outcome_with_a_follow_up_costs_a_bounded_number_of_statements(parcel: Parcel) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert drain(runs=1).done == 1

    own = [q["sql"] for q in captured.captured_queries if "SAVEPOINT" not in q["sql"]]
    # claim; record; record's lock, outcome; lock, request id, move, entry; follow-up applied; is more due
    assert len(own) <= 10, own


def test_a_budget_of_runs_ends_the_drain_and_says_that_more_is_due() -> None:
    queue_runs(3, an_entry())

    assert drain(runs=2).done == 2
    report = drain(runs=0)

    assert (report.done, report.more) == (0, True)
