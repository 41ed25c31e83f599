"""Stopping, skipping, publishing from outside: facts that workers apply; what no operator may do to a flow's runs."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle import SYSTEM, operations
from lifecycle.actors import Actor
from lifecycle.exceptions import (
    FlowEnded,
    FlowIdInUse,
    InvalidInput,
    InvalidPayload,
    NobodyWaits,
    RunSettled,
    UnknownFlow,
)
from lifecycle.execution.drain import drain
from lifecycle.flows import CANCEL, FAIL, publish, skip_timer, start_flow, stop
from lifecycle.models import ChannelMessage, FlowRun, Run, WaitCondition
from tests.support.flows import Fulfilment, Picked, Words

pytestmark = pytest.mark.django_db
ANN = Actor("ann", label="Ann")


def unchanged() -> Any:
    """Every row of flows, to see that nothing was written."""
    return [list(model.objects.order_by("pk").values()) for model in (FlowRun, ChannelMessage, Run)]


@pytest.mark.parametrize(("how", "status"), [(CANCEL, "cancelled"), (FAIL, "failed")])
def test_a_stopped_flow_ends_with_its_reason_and_leaves_no_work(fulfilment: FlowRun, how: Any, status: str) -> None:
    stop(fulfilment, how, actor=ANN, reason="sold out")
    fulfilment.refresh_from_db()
    assert fulfilment.status == "running"  # only a worker changes it

    drain()

    fulfilment.refresh_from_db()
    assert (fulfilment.status, fulfilment.error) == (status, "sold out")
    assert [one.phase for one in fulfilment.executions.all()] == ["cancelled"]
    assert not Run.objects.filter(status__in=["queued", "running", "held"]).exists()
    event = fulfilment.events.get()
    assert (event.kind, event.actor_label, event.reason) == ("stop", "Ann", "sold out")


def test_the_first_of_two_requests_to_stop_wins(fulfilment: FlowRun) -> None:
    stop(fulfilment, FAIL, actor=ANN, reason="first")
    stop(fulfilment, CANCEL, actor=ANN, reason="second")

    drain()

    fulfilment.refresh_from_db()
    assert (fulfilment.status, fulfilment.error) == ("failed", "first")


def test_a_skipped_timer_has_fired(fulfilment: FlowRun) -> None:
    skip_timer(fulfilment, "Pack-1", "late", actor=ANN, reason="they are late already")

    drain()

    assert [str(one) for one in fulfilment.executions.order_by("id")] == ["Pack-1", "Remind-1", "Pack-2"]
    assert fulfilment.executions.get(step="Pack", number=1).brought == {"messages": {}, "fired": ["late"]}


def test_who_skips_a_timer_leaves_a_fact_and_writes_nothing_of_the_flow(fulfilment: FlowRun) -> None:
    def waits() -> list[Any]:
        return list(WaitCondition.objects.order_by("pk").values())

    before = waits()

    skip_timer(fulfilment, "Pack-1", "late", actor=ANN)

    assert waits() == before


def test_a_message_id_makes_a_repeat_harmless(fulfilment: FlowRun) -> None:
    said = [publish(fulfilment, "picked", Picked("A"), actor=ANN, message_id="m1") for _ in range(2)]

    assert said == [True, False]
    assert fulfilment.messages.count() == 1


def test_a_start_that_is_repeated_gets_the_first_flow_and_another_is_refused(db: None) -> None:
    first = start_flow(Fulfilment, 7, actor=SYSTEM, flow_id="7", request_id="click")
    again = start_flow(Fulfilment, 7, actor=SYSTEM, flow_id="7", request_id="click")

    assert (again.flow.pk, first.replayed, again.replayed) == (first.flow.pk, False, True)
    with pytest.raises(FlowIdInUse, match="fulfilment '7' was started already"):
        start_flow(Fulfilment, 7, actor=SYSTEM, flow_id="7", request_id="another click")
    assert Run.objects.filter(kind="step").count() == 1


def test_publishing_to_those_who_wait_is_refused_when_nobody_does(fulfilment: FlowRun) -> None:
    publish(fulfilment, "picked", Picked("A"), actor=ANN, expect_waiting=True)
    drain()
    flow = start_flow(Fulfilment, 8, actor=SYSTEM, flow_id="8").flow

    before = unchanged()
    with pytest.raises(NobodyWaits, match=r"No step of fulfilment '8' waits for 'picked'"):
        publish(flow, "picked", Picked("A"), actor=ANN, expect_waiting=True)
    assert unchanged() == before


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda flow: start_flow("fulfilmnet", 7, actor=SYSTEM, flow_id="x"), UnknownFlow, "Did you mean 'fulfilment'"),
        (lambda flow: start_flow(Fulfilment, "7", actor=SYSTEM, flow_id="x"), InvalidPayload, "The input is no int"),
        (lambda flow: start_flow(Fulfilment, 7, actor=SYSTEM, flow_id="a/b"), InvalidInput, "without / \\$ :"),
        (lambda flow: publish(flow, "pickde", Picked("A"), actor=ANN), UnknownFlow, "Did you mean 'picked'"),
        (lambda flow: publish(flow, "picked", {"shelf": 5}, actor=ANN), InvalidPayload, "no Picked"),
        (lambda flow: publish(flow, "picked", Picked("x" * 70_000), actor=ANN), InvalidPayload, "more than the"),
        (lambda flow: publish((Fulfilment, "nine"), "picked", Picked("A"), actor=ANN), UnknownFlow, "no fulfilment"),
        (lambda flow: skip_timer(flow, "Pack-2", "late", actor=ANN), UnknownFlow, "Pack-2 of fulfilment"),
        (lambda flow: stop(flow, "explode", actor=ANN), InvalidInput, "expected CANCEL or FAIL"),
        (lambda flow: stop(flow, actor=None), TypeError, "actor"),
    ],
)
def test_a_call_that_is_wrong_says_what_was_expected_and_writes_nothing(
    fulfilment: FlowRun, call: Any, error: type[Exception], said: str
) -> None:
    before = unchanged()

    with pytest.raises(error, match=said):
        call(fulfilment)

    assert unchanged() == before


@pytest.mark.parametrize(
    "call",
    [
        lambda flow: publish(flow, "picked", Picked("A"), actor=ANN),
        lambda flow: stop(flow, actor=ANN),
        lambda flow: skip_timer(flow, "Pack-1", "late", actor=ANN),
    ],
)
def test_a_flow_that_has_ended_takes_nothing(fulfilment: FlowRun, call: Any) -> None:
    stop(fulfilment, actor=ANN)
    drain()
    before = unchanged()

    with pytest.raises(FlowEnded):
        call(fulfilment)

    assert unchanged() == before


def test_the_runs_of_a_flow_are_not_retried_continued_or_cancelled_one_by_one(fulfilment: FlowRun) -> None:
    for run in Run.objects.filter(flow=fulfilment):
        for operation in (operations.retry_run, operations.continue_run, operations.cancel_run):
            with pytest.raises(RunSettled, match="belongs to a flow"):
                operation(run, actor=ANN)


def test_flows_that_wait_for_a_channel_are_found(fulfilment: FlowRun) -> None:
    start_flow(Words, 2, actor=SYSTEM, flow_id="w")
    drain()

    assert list(FlowRun.objects.waiting_on(Fulfilment.picked)) == [fulfilment]
    assert [flow.name for flow in FlowRun.objects.waiting_on("words")] == ["words"]


def test_one_advance_takes_every_fact_that_lies_there_and_the_others_need_not_run(db: None) -> None:
    flow = start_flow(Words, 3, actor=SYSTEM, flow_id="w").flow
    drain()
    for word in "abc":
        publish(flow, Words.words, word, actor=ANN)

    drain()

    flow.refresh_from_db()
    assert flow.outputs == [["a", "b", "c"]]
    advances = Run.objects.filter(flow=flow, kind="advance").order_by("id")
    assert [(run.status, run.attempts) for run in advances] == [("succeeded", 1), ("succeeded", 0), ("succeeded", 0)]


def test_a_run_of_a_flow_that_went_on_says_why_it_was_not_called(fulfilment: FlowRun) -> None:
    publish(fulfilment, "picked", Picked("A"), actor=ANN)
    drain(runs=1)  # the advance; the execute is queued now
    run = Run.objects.get(effect="fulfilment.Pack.execute")
    FlowRun.objects.filter(pk=fulfilment.pk).update(status="cancelled")

    drain()

    run.refresh_from_db()
    assert (run.status, run.attempts) == ("cancelled", 0)
    assert run.error == "The flow has ended, or went on without this step; it was not called."
