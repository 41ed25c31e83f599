"""Outsiders and workers at the same time, on connections of their own: nothing is lost, doubled or kept waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from lifecycle import SYSTEM
from lifecycle.exceptions import FlowEnded
from lifecycle.execution.drain import drain
from lifecycle.flows import Wait, force_complete, graceful_complete, publish, start_flow, stop
from lifecycle.models import FlowRun, Run
from lifecycle.testing import race
from lifecycle.testing.racing import meeting
from tests.cases.flows import Dispatch
from tests.cases.models.flows import Shipment
from tests.support.flows import Fan, Fulfilment, Picked, Words

pytestmark = pytest.mark.django_db(transaction=True)
on_a_server = pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time")
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="elsewhere a publisher waits for a step")


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Races the calls; values and errors in their order."""
    return [finish.value if finish.won else finish.error for finish in race(*calls)]


def words(number: int, does: dict[str, Any], wanted: int = 1) -> FlowRun:
    """A flow that waits for so many words."""
    does["Collect.wait_for"] = lambda n: Wait.until(Words.words.for_n(n))
    flow = start_flow(Words, wanted, actor=SYSTEM, flow_id=f"w{number}").flow
    drain()
    return flow


@on_a_server
def test_two_publishers_of_two_flows_in_opposite_order_do_not_wait_for_each_other(does: dict[str, Any]) -> None:
    one, two = words(1, does, wanted=2), words(2, does, wanted=2)
    between = meeting(2)

    def publisher(first: FlowRun, second: FlowRun) -> None:
        with transaction.atomic():
            publish(first, Words.words, "first", actor=SYSTEM)
            between()  # both hold their first flow now
            publish(second, Words.words, "second", actor=SYSTEM)

    answers = at_once(lambda: publisher(one, two), lambda: publisher(two, one))
    drain()

    assert answers == [None, None]
    for flow in (one, two):
        flow.refresh_from_db()
        assert sorted(flow.outputs[0]) == ["first", "second"]


@on_postgresql
def test_a_publisher_waits_for_no_step_and_a_step_for_no_publisher(does: dict[str, Any]) -> None:
    flow = words(1, does, wanted=1)
    publish(flow, Words.words, "a", actor=SYSTEM)
    does["Collect"] = lambda ctx: graceful_complete("kept")
    published, committed = threading.Event(), threading.Event()

    def publisher() -> None:
        with transaction.atomic():
            publish(flow, Words.words, "b", actor=SYSTEM)
            published.set()
            # An advance takes "a" while this is not committed: it holds the flow's lock and is not kept from it.
            assert committed.wait(10)

    def worker() -> None:
        assert published.wait(10)
        drain(runs=1)
        committed.set()

    assert at_once(publisher, worker) == [None, None]
    assert flow.messages.get(payload="a").consumed_by is not None


@on_a_server
def test_a_wake_up_is_never_lost_between_a_wait_and_a_message(does: dict[str, Any]) -> None:
    for number in range(10):
        does["Collect.wait_for"] = lambda n: Wait.until(Words.words.for_n(n))
        flow = start_flow(Words, 1, actor=SYSTEM, flow_id=f"r{number}").flow

        at_once(drain, lambda flow=flow: publish(flow, Words.words, "a", actor=SYSTEM))  # type: ignore[misc]
        drain()

        flow.refresh_from_db()
        assert flow.outputs == [["a"]], number


@on_a_server
def test_a_forced_end_and_a_message_at_the_same_time_leave_neither_half_done(does: dict[str, Any]) -> None:
    does["Collect"] = lambda ctx: force_complete("ended")
    for number in range(10):
        flow = words(number, does)
        publish(flow, Words.words, "a", actor=SYSTEM)

        answers = at_once(drain, lambda flow=flow: publish(flow, Words.words, "late", actor=SYSTEM))  # type: ignore[misc]
        drain()

        flow.refresh_from_db()
        assert flow.status == "completed"
        # Refused, or kept in the flow it reached before its end; nothing is left to be done for it.
        assert isinstance(answers[1], FlowEnded) or flow.messages.filter(payload="late").exists()
        assert not Run.objects.filter(flow=flow, status__in=["queued", "running"]).exists()


@on_a_server
def test_four_workers_on_fifty_branches_end_the_flow_once_with_every_output(does: dict[str, Any]) -> None:
    flow = start_flow(Fan, 50, actor=SYSTEM, flow_id="fifty").flow
    drain(runs=1)

    reports = at_once(*[lambda: drain()] * 4)  # noqa: PLW0108 each with its own arguments

    drain()
    flow.refresh_from_db()
    assert [type(report).__name__ for report in reports] == ["DrainReport"] * 4
    assert (flow.status, sorted(flow.outputs), flow.open) == ("completed", list(range(50)), 0)
    assert Run.objects.filter(flow=flow, kind="step", attempts=1, crashes=0).count() == 51


@on_a_server
def test_a_stop_and_a_step_that_commits_leave_one_end(does: dict[str, Any]) -> None:
    for number in range(10):
        flow = start_flow(Fan, 3, actor=SYSTEM, flow_id=f"s{number}").flow

        at_once(drain, lambda flow=flow: stop(flow, actor=SYSTEM, reason="enough"))  # type: ignore[misc]
        drain()

        flow.refresh_from_db()
        assert flow.status in ("completed", "cancelled")
        assert not flow.executions.filter(phase__in=["before_wait", "waiting", "executing"]).exists()
        assert not Run.objects.filter(flow=flow, status__in=["queued", "running"]).exists()


@on_a_server
def test_a_timer_and_a_message_at_the_same_time_end_the_wait_once(does: dict[str, Any]) -> None:
    from lifecycle.flows import skip_timer

    for number in range(5):
        flow = start_flow(Fulfilment, number, actor=SYSTEM, flow_id=f"t{number}").flow
        drain()

        at_once(
            lambda flow=flow: publish(flow, "picked", Picked("A"), actor=SYSTEM),  # type: ignore[misc]
            lambda flow=flow: skip_timer(flow, "Pack-1", "late", actor=SYSTEM),  # type: ignore[misc]
            drain,
        )
        drain()

        flow.refresh_from_db()
        began = [str(one) for one in flow.executions.filter(came_from="Pack-1")]
        assert began in (["HandOver-1"], ["Remind-1"])
        assert flow.messages.filter(consumed_by__isnull=False).count() == 1  # now, or by Pack-2 after the reminder


@on_a_server
def test_a_publisher_that_then_moves_the_record_and_a_step_that_fires_both_come_through(does: dict[str, Any]) -> None:
    from lifecycle.runtime import create, fire

    for _ in range(5):
        shipment = create(Shipment(), actor=SYSTEM)
        fire(shipment, "pay", actor=SYSTEM)
        drain()
        flow = FlowRun.objects.of("shipments", str(shipment.pk)).get()
        publish(flow, Dispatch.courier, "A", actor=SYSTEM)

        def publisher(flow: FlowRun = flow, pk: Any = shipment.pk) -> str:
            with transaction.atomic():
                publish(flow, Dispatch.courier, "B", actor=SYSTEM)
                return fire(Shipment.objects.get(pk=pk), "take_back", actor=SYSTEM).entry.target  # type: ignore[union-attr]

        at_once(publisher, drain)
        drain()

        shipment.refresh_from_db()
        flow.refresh_from_db()
        # The publisher's transaction or the step's came first; both are whole, whichever it was.
        assert shipment.status in ("returned", "shipped")
        assert not Run.objects.filter(flow=flow, status="running").exists()


def test_the_same_start_sent_at_once_makes_one_flow() -> None:
    answers = at_once(*[lambda: start_flow(Fulfilment, 1, actor=SYSTEM, flow_id="one", request_id="click").flow.pk] * 4)

    assert set(answers) == {FlowRun.objects.get().pk}
    assert Run.objects.filter(kind="step").count() == 1


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    assert not Run.objects.filter(status="running").exists()
