"""Flows that belong to a record: started by entering a state, and firing its transitions in their steps' commits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from lifecycle import SYSTEM
from lifecycle.execution.drain import drain
from lifecycle.flows import publish
from lifecycle.models import FlowRun, TransitionLog
from lifecycle.models.writes import creation_in_any_state
from lifecycle.runtime import create, fire, fire_many
from tests.cases.flows import Dispatch, meanwhile
from tests.cases.models.flows import Shipment

pytestmark = pytest.mark.django_db


@pytest.fixture
def shipment() -> Shipment:
    """A paid shipment, whose dispatch waits for a courier."""
    paid = create(Shipment(), actor=SYSTEM)
    fire(paid, "pay", actor=SYSTEM)
    drain()
    return paid


@pytest.fixture
def before_firing() -> Iterator[dict[str, Any]]:
    """What happens right before the step fires; put back after the test."""
    yield meanwhile
    meanwhile.clear()


def test_entering_a_state_starts_its_flow_once_in_the_same_transaction(shipment: Shipment) -> None:
    flow = FlowRun.objects.get()
    entry = TransitionLog.objects.get(transition="pay")

    assert (flow.name, flow.input, flow.status) == ("dispatch", str(shipment.pk), "running")
    assert (flow.lifecycle, flow.record_id, flow.entry) == ("shipments", str(shipment.pk), entry)
    assert list(FlowRun.objects.of("shipments", str(shipment.pk))) == [flow]


def test_a_transition_that_is_rolled_back_starts_nothing() -> None:
    new = create(Shipment(), actor=SYSTEM)

    with pytest.raises(RuntimeError), transaction.atomic():
        fire(new, "pay", actor=SYSTEM)
        raise RuntimeError

    assert not FlowRun.objects.exists()


def test_a_record_that_is_not_wanted_starts_none() -> None:
    fire(create(Shipment(by_hand=True), actor=SYSTEM), "pay", actor=SYSTEM)

    assert not FlowRun.objects.exists()


def test_many_records_start_a_flow_each() -> None:
    several = [create(Shipment(), actor=SYSTEM) for _ in range(3)]

    report = fire_many(several, "pay", actor=SYSTEM)

    assert len(report.fired) == FlowRun.objects.count() == 3


def test_each_entering_starts_a_flow_of_its_own(shipment: Shipment) -> None:
    publish(FlowRun.objects.get(), "courier", "A", actor=SYSTEM)
    drain()
    shipment.refresh_from_db()

    fire(shipment, "pay_again", actor=SYSTEM)

    assert [flow.status for flow in FlowRun.objects.all()] == ["completed", "running"]


def test_a_step_fires_in_its_commit_under_an_id_of_its_own(shipment: Shipment) -> None:
    flow = FlowRun.objects.get()
    publish(flow, Dispatch.courier, "DHL", actor=SYSTEM)

    drain()

    shipment.refresh_from_db()
    flow.refresh_from_db()
    assert (shipment.status, shipment.carrier) == ("shipped", "DHL")
    assert (flow.status, flow.outputs) == ("completed", [{"carrier": "DHL", "was": "paid"}])
    entry = TransitionLog.objects.get(transition="ship")
    assert (entry.request_id, entry.actor_kind) == (f"$flow:{flow.pk}:Book-1:0", "system")


def test_a_refused_transition_is_a_failed_attempt_with_every_reason(
    shipment: Shipment, before_firing: dict[str, Any]
) -> None:
    flow = FlowRun.objects.get()
    Shipment.objects.filter(pk=shipment.pk).update(locked=True)
    publish(flow, Dispatch.courier, "DHL", actor=SYSTEM)

    drain()

    run = flow.runs.get(effect="dispatch.Book.execute")
    assert run.attempts == 3
    assert "The shipment is locked." in run.error
    shipment.refresh_from_db()
    flow.refresh_from_db()
    assert (shipment.status, flow.status) == ("paid", "failed")


def test_an_attempt_that_was_refused_once_goes_on_when_it_is_allowed(
    shipment: Shipment, before_firing: dict[str, Any]
) -> None:
    flow = FlowRun.objects.get()
    tries: list[int] = []

    def unlocks_at_the_second(ctx: Any) -> None:
        tries.append(ctx.attempt)
        Shipment.objects.filter(pk=shipment.pk).update(locked=len(tries) < 2)

    before_firing["Book"] = unlocks_at_the_second
    publish(flow, Dispatch.courier, "DHL", actor=SYSTEM)

    drain()

    shipment.refresh_from_db()
    assert (tries, shipment.status) == ([1, 2], "shipped")
    assert TransitionLog.objects.filter(transition="ship").count() == 1


def test_a_hook_that_fails_in_a_steps_commit_is_a_failed_attempt(
    shipment: Shipment, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifecycle.store import moving

    def broken(*args: Any) -> None:
        raise ValueError("the hook broke")

    monkeypatch.setattr(moving, "move", broken)
    flow = FlowRun.objects.get()
    publish(flow, Dispatch.courier, "DHL", actor=SYSTEM)

    drain()

    run = flow.runs.get(effect="dispatch.Book.execute")
    flow.refresh_from_db()
    assert (run.status, run.attempts, run.error) == ("failed", 3, "ValueError: the hook broke")
    assert flow.error == "Book-1: ValueError: the hook broke"


def test_a_transition_that_no_longer_starts_there_is_not_tried_again(shipment: Shipment) -> None:
    flow = FlowRun.objects.get()
    fire(shipment, "take_back", actor=SYSTEM)
    publish(flow, Dispatch.courier, "DHL", actor=SYSTEM)

    drain()

    run = flow.runs.get(effect="dispatch.Book.execute")
    assert (run.status, run.attempts, run.error_code) == ("failed", 1, "invalid_state")


@pytest.mark.parametrize("how", ["created", "saved and moved", "saved"])
def test_a_flow_of_a_deleted_record_touches_no_other_that_has_its_key(shipment: Shipment, how: str) -> None:
    old, key = FlowRun.objects.get(), shipment.pk
    shipment.delete()
    another = Shipment(number=key)
    if how == "saved":
        another.status = "paid"
        with creation_in_any_state():
            another.save()
    elif how == "created":
        fire(create(another, actor=SYSTEM), "pay", actor=SYSTEM)
    else:
        another.save()
        fire(another, "pay", actor=SYSTEM)
    publish(old, Dispatch.courier, "DHL", actor=SYSTEM)

    drain()

    another.refresh_from_db()
    old.refresh_from_db()
    assert (another.status, another.carrier) == ("paid", "")
    assert old.status == "failed"
    assert old.error == "Book-1: RecordNotFound: The record was deleted; another one has its key now."
