"""A flow from its start to its end: it waits for a message or a time, executes, decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle import SYSTEM
from lifecycle.execution.crashes import take_back
from lifecycle.execution.drain import drain
from lifecycle.flows import Wait, known, publish, start_flow
from lifecycle.models import FlowRun, Run
from lifecycle.testing import travel
from tests.execution.rows import USING, claim, expire
from tests.support.flows import Fan, Fulfilment, HandOver, Picked, Words

pytestmark = pytest.mark.django_db


def steps_of(flow: FlowRun) -> list[tuple[str, str]]:
    return [(str(one), one.phase) for one in flow.executions.order_by("id")]


def test_while_a_flow_waits_nothing_runs(fulfilment: FlowRun) -> None:
    assert steps_of(fulfilment) == [("Pack-1", "waiting")]
    due = Run.objects.filter(flow=fulfilment, status__in=["queued", "running"]).order_by("available_at")
    assert [run.kind for run in due] == ["advance", "advance"]  # after 48 hours, after 14 days


def test_a_message_ends_the_wait_and_the_step_executes_with_it(fulfilment: FlowRun) -> None:
    publish(fulfilment, Fulfilment.picked, Picked("A3", 2), actor=SYSTEM)

    drain()

    fulfilment.refresh_from_db()
    assert (fulfilment.status, fulfilment.outputs) == ("completed", ["T-1 from A3"])
    assert steps_of(fulfilment) == [("Pack-1", "completed"), ("HandOver-1", "completed")]
    assert fulfilment.executions.get(step="HandOver").came_from == "Pack-1"
    assert not Run.objects.filter(status__in=["queued", "running"]).exists()


def test_a_timer_ends_the_wait_when_nobody_publishes(fulfilment: FlowRun, does: dict[str, Any]) -> None:
    reminded: list[str] = []
    does["Remind"] = lambda ctx: reminded.append(ctx.execution)

    with travel(hours=49):
        drain()
        assert reminded == ["Remind-1"]
        assert steps_of(fulfilment) == [
            ("Pack-1", "completed"),
            ("Remind-1", "completed"),
            ("Pack-2", "waiting"),
        ]


def test_a_message_that_came_before_anybody_waited_is_taken_later(db: None) -> None:
    flow = start_flow(Fulfilment, 7, actor=SYSTEM, flow_id="early").flow
    publish(flow, Fulfilment.picked, Picked("B1"), actor=SYSTEM)

    drain()

    flow.refresh_from_db()
    assert flow.outputs == ["T-1 from B1"]


def test_a_step_that_fails_for_good_is_recovered_by_another_with_the_same_input(
    fulfilment: FlowRun, does: dict[str, Any]
) -> None:
    def no(ctx: Any) -> str:
        raise ConnectionError("no courier")

    does["HandOver"] = no
    publish(fulfilment, Fulfilment.picked, Picked("A3"), actor=SYSTEM)

    drain()

    fulfilment.refresh_from_db()
    assert (fulfilment.status, fulfilment.error) == ("failed", "compensated: ConnectionError: no courier")
    assert steps_of(fulfilment)[1:] == [("HandOver-1", "failed"), ("Compensate-1", "completed")]
    again = fulfilment.executions.get(step="Compensate")
    assert (again.input, again.came_from) == ({"shelf": "A3", "pieces": 1}, "HandOver-1")
    assert fulfilment.outputs == []


def test_branches_run_side_by_side_and_the_flow_ends_with_the_last(db: None) -> None:
    flow = start_flow(Fan, 5, actor=SYSTEM, flow_id="five").flow

    drain()

    flow.refresh_from_db()
    assert (flow.status, sorted(flow.outputs), flow.open) == ("completed", [0, 1, 2, 3, 4], 0)
    assert [str(one) for one in flow.executions.filter(step="Branch")] == [f"Branch-{n}" for n in range(1, 6)]


def test_a_flow_that_takes_too_long_has_failed(fulfilment: FlowRun) -> None:
    with travel(days=15):
        drain()
        fulfilment.refresh_from_db()

    assert (fulfilment.status, fulfilment.error) == ("failed", "The flow took longer than 14 days, 0:00:00.")


@pytest.mark.django_db(transaction=True)
def test_the_workers_of_a_steps_own_queue_are_woken_by_the_commit_that_enqueues_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    woken: list[str] = []
    monkeypatch.setattr("lifecycle.dispatch.publish", woken.append)
    monkeypatch.setattr(HandOver, "options", replace(HandOver.options, queue="couriers"))
    flow = start_flow(Fulfilment, 7, actor=SYSTEM, flow_id="q").flow
    publish(flow, Fulfilment.picked, Picked("A"), actor=SYSTEM)

    drain()
    assert "couriers" in woken
    drain("couriers")

    flow.refresh_from_db()
    assert flow.outputs == ["T-1 from A"]


def test_rows_under_a_steps_former_name_are_read_and_go_on(
    fulfilment: FlowRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed = replace(Fulfilment.definition, former={"PackOld": "Pack"})
    fulfilment.executions.update(step="PackOld")
    known._definitions["fulfilment"] = renamed
    try:
        publish(fulfilment, Fulfilment.picked, Picked("A"), actor=SYSTEM)
        drain()
    finally:
        known._definitions["fulfilment"] = Fulfilment.definition

    fulfilment.refresh_from_db()
    assert fulfilment.outputs == ["T-1 from A"]
    assert steps_of(fulfilment)[0] == ("PackOld-1", "completed")


@pytest.mark.parametrize("waits", [True, False])
def test_a_first_method_enqueued_under_a_former_name_is_called(db: None, waits: bool, does: dict[str, Any]) -> None:
    flow = start_flow(Words, 1, actor=SYSTEM, flow_id="w").flow
    flow.executions.update(step="Gather")
    flow.runs.filter(kind="step").update(effect="words.Gather.wait_for")
    does["Collect.wait_for"] = lambda n: Wait.until(Words.words.for_one()) if waits else Wait.skip()
    known._definitions["words"] = replace(Words.definition, former={"Gather": "Collect"})
    try:
        publish(flow, Words.words, "a", actor=SYSTEM)
        drain()
    finally:
        known._definitions["words"] = Words.definition

    flow.refresh_from_db()
    assert flow.outputs == [["a"] if waits else []]


def test_a_worker_lost_for_good_in_a_step_is_a_failure_that_says_how_often(fulfilment: FlowRun) -> None:
    publish(fulfilment, Fulfilment.picked, Picked("A"), actor=SYSTEM)
    drain(runs=1)
    run = Run.objects.get(effect="fulfilment.Pack.execute")
    Run.objects.filter(pk=run.pk).update(max_crashes=1)
    claim()
    expire(run)

    take_back(USING)
    drain()

    fulfilment.refresh_from_db()
    assert (fulfilment.status, fulfilment.error) == (
        "failed",
        "Pack-1: 1 worker was lost in fulfilment.Pack.execute.",
    )
