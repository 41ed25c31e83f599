"""Rules E and D: how an execution goes, what a decision does."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle import SYSTEM
from lifecycle.definition.flows.decisions import InvalidDecision
from lifecycle.execution.drain import drain
from lifecycle.flows import (
    StepOptions,
    Wait,
    dead_end,
    force_complete,
    force_complete_if_channels_empty,
    force_fail,
    go_to,
    go_to_many,
    graceful_complete,
    move,
    publish,
    start_flow,
    stop,
)
from lifecycle.models import FlowRun, Run
from tests.support.flows import Branch, Collect, Fan, Pack, Speak, Words

pytestmark = pytest.mark.django_db


def fan(number: int, does: dict[str, Any], branch: Any) -> FlowRun:
    """A flow of so many branches that answer so."""
    does["Branch"] = branch
    flow = start_flow(Fan, number, actor=SYSTEM, flow_id=f"fan{FlowRun.objects.count()}").flow
    drain()
    flow.refresh_from_db()
    return flow


def phases(flow: FlowRun) -> list[tuple[str, str]]:
    return [(str(one), one.phase) for one in flow.executions.order_by("id")]


def test_e1_e2_wait_for_and_execute_are_committed_each_on_its_own(does: dict[str, Any]) -> None:
    does["Collect.wait_for"] = lambda n: Wait.until(Words.words.for_one())
    flow = start_flow(Words, 1, actor=SYSTEM, flow_id="w").flow
    drain()
    publish(flow, Words.words, "a", actor=SYSTEM)
    drain()

    runs = flow.runs.filter(kind="step").order_by("id")
    assert [(run.effect, run.status, run.attempts) for run in runs] == [
        ("words.Collect.wait_for", "succeeded", 1),
        ("words.Collect.execute", "succeeded", 1),
    ]


def test_e2_a_failed_attempt_leaves_nothing_of_what_it_staged(
    does: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Collect, "options", StepOptions())

    def publishes_and_fails(ctx: Any) -> Any:
        ctx.publish(Words.words, "staged")
        raise ConnectionError("no")

    does["Collect"] = publishes_and_fails
    does["Collect.wait_for"] = lambda n: Wait.skip()
    flow = start_flow(Words, 0, actor=SYSTEM, flow_id="w").flow

    drain()

    assert not flow.messages.exists()
    assert phases(flow) == [("Collect-1", "executing")]


def test_e3_a_wait_for_nothing_goes_on_at_once(does: dict[str, Any]) -> None:
    does["Collect.wait_for"] = lambda n: Wait.skip()
    flow = start_flow(Words, 0, actor=SYSTEM, flow_id="w").flow

    drain()

    flow.refresh_from_db()
    assert flow.status == "completed"


def test_e4_waiting_holds_no_worker(fulfilment: FlowRun) -> None:
    assert not Run.objects.filter(kind="step", status__in=["queued", "running"]).exists()


def test_e8_the_key_is_the_same_over_the_attempts_of_an_execution_and_differs_between_them(
    does: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import timedelta

    from lifecycle.definition.retries import Retry

    monkeypatch.setattr(Branch, "options", StepOptions(retry=Retry(attempts=2, backoff=timedelta(0))))
    keys: list[tuple[str, int, str]] = []

    def once_more(ctx: Any, given: int) -> Any:
        keys.append((ctx.execution, ctx.attempt, ctx.idempotency_key))
        if ctx.attempt == 1:
            raise ConnectionError("once more")
        return dead_end()

    flow = fan(2, does, once_more)

    assert {key for _, _, key in keys} == {f"flow:{flow.pk}:Branch-1", f"flow:{flow.pk}:Branch-2"}
    assert sorted(attempt for _, attempt, _ in keys) == [1, 1, 2, 2]


def test_d1_a_step_may_go_to_itself_and_to_several(does: dict[str, Any]) -> None:
    flow = fan(1, does, lambda ctx, n: go_to(Branch, n + 1) if n < 3 else graceful_complete(n))

    assert flow.outputs == [3]
    assert [one.came_from for one in flow.executions.filter(step="Branch").order_by("id")] == [
        "Split-1",
        "Branch-1",
        "Branch-2",
        "Branch-3",
    ]


@pytest.mark.parametrize("movements", [(), (1,)])
def test_d1_no_movement_is_no_decision(movements: Any) -> None:
    with pytest.raises(InvalidDecision):
        go_to_many(*movements)


def test_d2_a_graceful_completion_waits_for_the_other_branches_and_is_never_taken_back(does: dict[str, Any]) -> None:
    flow = fan(3, does, lambda ctx, n: graceful_complete(n) if n == 0 else dead_end())

    assert (flow.status, flow.outputs) == ("completed", [0])


def test_d3_dead_ends_alone_leave_the_flow_running(does: dict[str, Any]) -> None:
    flow = fan(2, does, lambda ctx, n: dead_end())

    assert (flow.status, flow.open) == ("running", 0)


def test_d4_a_forced_completion_cancels_all_others(does: dict[str, Any]) -> None:
    flow = fan(4, does, lambda ctx, n: force_complete(n))

    assert (flow.status, flow.outputs) == ("completed", [0])
    assert [phase for _, phase in phases(flow)] == ["completed", "completed", "cancelled", "cancelled", "cancelled"]
    assert not Run.objects.filter(status__in=["queued", "running"]).exists()


def test_d5_a_forced_failure_has_its_reason_and_no_outputs(does: dict[str, Any]) -> None:
    flow = fan(2, does, lambda ctx, n: graceful_complete(n) if n == 0 else force_fail("sold out"))

    assert (flow.status, flow.error, flow.outputs) == ("failed", "sold out", [])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda ctx, n: None, "expected a decision"),
        (lambda ctx, n: go_to(Pack, 1), "has no step 'Pack'"),
        (lambda ctx, n: go_to("Brunch", 1), "Did you mean 'Branch'"),
        (lambda ctx, n: go_to(Branch, "one"), "The input of 'Branch' is no int"),
        (lambda ctx, n: graceful_complete("x" * 70_000), "more than the"),
    ],
)
def test_d7_a_decision_that_cannot_be_is_a_failed_attempt_that_says_so(
    does: dict[str, Any], monkeypatch: pytest.MonkeyPatch, answer: Any, said: str
) -> None:
    from lifecycle.definition.retries import Retry

    monkeypatch.setattr(Branch, "options", StepOptions(retry=Retry(attempts=1)))

    flow = fan(1, does, answer)

    assert flow.status == "failed"
    assert said in flow.error
    assert flow.error.startswith("Branch-1: ")


def test_d8_outputs_are_kept_in_the_order_of_their_commits(does: dict[str, Any]) -> None:
    flow = fan(3, does, lambda ctx, n: graceful_complete({"branch": n}) if n else graceful_complete())

    assert flow.outputs == [{"branch": 1}, {"branch": 2}]


def test_f3_retry_at_moves_the_next_attempt(does: dict[str, Any]) -> None:
    from datetime import timedelta

    from lifecycle import RetryAt, clock

    def later(ctx: Any, given: int) -> Any:
        raise RetryAt(timedelta(hours=3))

    flow = fan(1, does, later)

    run = flow.runs.get(effect="fan.Branch.execute")
    assert run.status == "queued"
    assert run.available_at - clock.now() > timedelta(hours=2)


def test_f4_an_attempt_that_takes_too_long_has_failed(does: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import time
    from datetime import timedelta

    from lifecycle.definition.retries import Retry

    bounds = StepOptions(execute_timeout=timedelta(milliseconds=50), retry=Retry(attempts=1))
    monkeypatch.setattr(Branch, "options", bounds)

    def slow(ctx: Any, given: int) -> Any:
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            pass
        return dead_end()

    flow = fan(1, does, slow)

    assert (flow.status, flow.error) == ("failed", "Branch-1: Timed out after 0.05 s.")


def test_k1_k3_a_cancelled_step_writes_nothing_though_its_code_came_back(does: dict[str, Any]) -> None:
    def stopped_meanwhile(ctx: Any, given: int) -> Any:
        flow = FlowRun.objects.get()
        stop(flow, actor=SYSTEM, reason="enough")
        # Another worker applies it while this one is still in its code.
        drain()
        return go_to(Branch, 9)

    flow = fan(1, does, stopped_meanwhile)

    assert (flow.status, phases(flow)) == ("cancelled", [("Split-1", "completed"), ("Branch-1", "cancelled")])


def test_k4_a_cancelled_execution_keeps_its_number(does: dict[str, Any]) -> None:
    flow = fan(3, does, lambda ctx, n: force_complete())

    assert flow.numbers == {"Split": 1, "Branch": 3}


def test_steps_may_publish_to_those_who_wait_in_the_same_flow(does: dict[str, Any]) -> None:
    does["Collect"] = lambda ctx: (
        go_to_many(move(Collect, 2), move(Speak, "hello"), move(Speak, "world"))
        if ctx.came_from == "$start"
        else force_complete(sorted(ctx.results(Words.words)))
    )
    does["Collect.wait_for"] = lambda n: Wait.until(Words.words.for_n(n)) if n else Wait.skip()
    flow = start_flow(Words, 0, actor=SYSTEM, flow_id="w").flow

    drain()

    flow.refresh_from_db()
    assert flow.outputs == [["hello", "world"]]
    assert flow.messages.first().actor_id == "flow:words"


def test_d6_a_flow_completes_if_its_channels_are_empty_and_else_falls_back(does: dict[str, Any]) -> None:
    does["Collect.wait_for"] = lambda n: Wait.until(Words.words.for_one())
    does["Collect"] = lambda ctx: force_complete_if_channels_empty("drained", move(Collect, 1), Words.words, "other")
    flow = start_flow(Words, 1, actor=SYSTEM, flow_id="w").flow
    for word in "abc":
        publish(flow, Words.words, word, actor=SYSTEM)

    drain()

    flow.refresh_from_db()
    assert (flow.outputs, flow.numbers) == (["drained"], {"Collect": 3})
    assert not flow.messages.filter(consumed_by=None).exists()


def test_d6_a_message_that_another_step_works_on_keeps_a_channel_from_being_empty(does: dict[str, Any]) -> None:
    answers: list[Any] = []

    def decides_while_another_executes(ctx: Any) -> Any:
        if ctx.came_from == "$start":
            return go_to_many(move(Collect, 1), move(Collect, 1))
        if not answers:
            answers.append(ctx.execution)
            drain()  # the other one, which finds that this one still works on its message
            return dead_end()
        return force_complete_if_channels_empty("too early", move(Speak, "fallback"), Words.words)

    does["Collect"] = decides_while_another_executes
    does["Collect.wait_for"] = lambda n: Wait.until(Words.words.for_n(n)) if n else Wait.skip()
    flow = start_flow(Words, 0, actor=SYSTEM, flow_id="w").flow
    publish(flow, Words.words, "a", actor=SYSTEM)
    publish(flow, Words.words, "b", actor=SYSTEM)

    drain()

    flow.refresh_from_db()
    assert (flow.status, flow.numbers["Speak"]) == ("running", 1)


@pytest.mark.parametrize("channels", [(), ("words", Words.words)])
def test_d6_no_channel_and_one_twice_are_refused(channels: Any) -> None:
    with pytest.raises(InvalidDecision, match="one or more different channels"):
        force_complete_if_channels_empty(None, move(Speak, "x"), *channels)


def test_d9_a_decision_may_cancel_all_executions_of_a_step(does: dict[str, Any]) -> None:
    flow = fan(4, does, lambda ctx, n: graceful_complete(n).cancelling(Branch))

    assert (flow.status, flow.outputs) == ("completed", [0])
    assert [phase for _, phase in phases(flow)] == ["completed", "completed", "cancelled", "cancelled", "cancelled"]


def test_d9_siblings_are_those_of_the_same_decision(does: dict[str, Any]) -> None:
    def answer(ctx: Any, given: int) -> Any:
        if ctx.came_from == "Split-1":
            return go_to_many(move(Branch, 10 + given), move(Branch, 20 + given))
        return dead_end().cancelling_siblings(Branch)

    flow = fan(2, does, answer)

    assert [(one.came_from, one.phase) for one in flow.executions.filter(step="Branch").order_by("id")] == [
        ("Split-1", "completed"),
        ("Split-1", "completed"),
        ("Branch-1", "completed"),
        ("Branch-1", "cancelled"),
        ("Branch-2", "completed"),
        ("Branch-2", "cancelled"),
    ]
    assert flow.open == 0


def test_k2_a_decision_never_cancels_what_it_begins_itself(does: dict[str, Any]) -> None:
    flow = fan(1, does, lambda ctx, n: go_to(Branch, 1).cancelling(Branch) if n == 0 else graceful_complete("done"))

    assert flow.outputs == ["done"]
