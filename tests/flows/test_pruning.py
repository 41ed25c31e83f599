"""Flows that ended are deleted after a while, whole; running ones never are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps

from lifecycle import SYSTEM
from lifecycle.execution.drain import drain
from lifecycle.flows import publish, start_flow, stop
from lifecycle.models import FlowRun, Run
from lifecycle.store.pruning import Retention
from lifecycle.sweeps import retention
from lifecycle.sweeps.passes import Pass
from lifecycle.testing import travel
from tests.execution.rows import USING
from tests.support.flows import Fan, Picked

pytestmark = pytest.mark.django_db
KEPT = Retention(succeeded=timedelta(days=30), failed=timedelta(days=90))


def left() -> set[str]:
    """The tables of flows that hold rows."""
    names = ["FlowRun", "StepExecution", "WaitCondition", "ChannelMessage", "FlowEvent", "Run", "RunAttempt"]
    return {name for name in names if apps.get_model("lifecycle", name).objects.exists()}


def swept(**given: Any) -> int:
    sweep = Pass(using=USING, seconds=60)
    retention.run_once(sweep, retention=KEPT, **given)
    return sweep.done


def test_a_completed_flow_goes_with_everything_that_is_its_own(fulfilment: FlowRun, does: dict[str, Any]) -> None:
    def fails_once(ctx: Any) -> str:
        if ctx.attempt == 1:
            raise ConnectionError("once")
        return "T"

    does["HandOver"] = fails_once
    publish(fulfilment, "picked", Picked("A"), actor=SYSTEM)
    drain()
    fulfilment.refresh_from_db()
    assert fulfilment.status == "completed"
    with travel(days=29):
        swept()
        assert FlowRun.objects.exists()

    with travel(days=31):
        assert swept(delete=False) > 0
        assert FlowRun.objects.exists()
        swept()

    assert left() == set()


def test_what_runs_or_failed_lately_is_kept(fulfilment: FlowRun) -> None:
    failed = start_flow(Fan, 0, actor=SYSTEM, flow_id="f").flow
    stop(failed, "fail", actor=SYSTEM)
    drain()
    FlowRun.objects.filter(pk=fulfilment.pk).update(due_at=None)

    with travel(days=89):
        swept()
        assert FlowRun.objects.count() == 2
    with travel(days=91):
        swept()

    assert FlowRun.objects.get() == fulfilment
    assert Run.objects.filter(flow=fulfilment).exists()
