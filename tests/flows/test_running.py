"""A flow from its start to its end: it waits for a message or a time, executes, decides."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle import SYSTEM
from lifecycle.execution.drain import drain
from lifecycle.flows import publish, start_flow
from lifecycle.models import FlowRun, Run
from lifecycle.testing import travel
from tests.support.flows import Fan, Fulfilment, Picked

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
