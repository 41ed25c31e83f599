"""Hooks that fire other records, or move their own record on; what callers hear after the commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from lifecycle import SYSTEM, Lifecycle, Transition, effect, on_enter, registry, signals
from lifecycle.exceptions import WrongState
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create, fire
from tests.support.models import Parcel, Ticket

P = Parcel.Status


@pytest.fixture
def parcels() -> Iterator[dict[str, Any]]:
    """Parcels under a lifecycle whose hooks do what the test says."""
    script: dict[str, Any] = {}

    class Scripted(Lifecycle[Parcel]):
        class Meta:
            model = Parcel
            name = "parcels"
            initial = P.PACKED
            final = [P.RETURNED]
            states = [P.PACKED, P.LABELLING, P.SENT, P.RETURNED]

        send = Transition(P.PACKED, P.LABELLING)
        go_on = Transition(P.LABELLING, P.SENT)
        back = Transition(P.SENT, P.RETURNED)

        @send.effect
        def own(self, ctx: Any) -> None: ...

        @effect(on_enter=P.LABELLING)
        def entered(self, ctx: Any) -> None: ...

        @effect(on_enter=P.SENT)
        def sent(self, ctx: Any) -> None: ...

        @send.hook
        def first(self, ctx: Any) -> None:
            script.get("first", lambda ctx: None)(ctx)

        @on_enter(P.LABELLING)
        def second(self, ctx: Any) -> None:
            script.setdefault("seen", []).append(ctx.transition)
            script.get("second", lambda ctx: None)(ctx)

    usual = registry.get("parcels")
    registry.unregister("parcels")
    Parcel.lifecycle = None  # type: ignore[attr-defined]
    del Parcel.lifecycle  # type: ignore[attr-defined]
    registry.register(Scripted)
    yield script
    registry.unregister("parcels")
    del Parcel.lifecycle  # type: ignore[attr-defined]
    registry.register(usual.lifecycle)


@pytest.fixture
def told() -> Iterator[list[tuple[str, str]]]:
    heard: list[tuple[str, str]] = []

    def listen(signal: Any, name: str) -> Any:
        def receiver(sender: Any, transition: str, **kwargs: Any) -> None:
            heard.append((name, transition))

        signal.connect(receiver)
        return receiver

    receivers = [
        (signals.transition_committed, listen(signals.transition_committed, "committed")),
        (signals.state_entered, listen(signals.state_entered, "entered")),
        (signals.transition_available, listen(signals.transition_available, "available")),
    ]
    yield heard
    for signal, receiver in receivers:
        signal.disconnect(receiver)


@pytest.mark.django_db
def test_a_hook_that_moves_its_own_record_on_ends_the_outer_transition(parcels: dict[str, Any]) -> None:
    parcels["first"] = lambda ctx: ctx.record.lifecycle.fire("go_on", actor=SYSTEM)
    parcel = create(Parcel(), actor=SYSTEM)

    fired = parcel.lifecycle.fire("send", actor=SYSTEM)

    assert fired.record.status == "sent"
    assert parcel.status == "sent"
    assert [e.transition for e in parcel.lifecycle.history] == ["$create", "send", "go_on"]
    assert "seen" not in parcels, "the hooks after the one that moved on do not run"
    assert sorted(run.effect for run in Run.objects.all()) == ["own", "sent"]
    assert [run.effect for run in fired.runs] == ["own"]


@pytest.mark.django_db
def test_a_hook_that_tried_to_move_on_and_was_refused_does_not_end_it(parcels: dict[str, Any]) -> None:
    def try_back(ctx: Any) -> None:
        with pytest.raises(WrongState):
            ctx.record.lifecycle.fire("back", actor=SYSTEM)

    parcels["first"] = try_back
    parcel = create(Parcel(), actor=SYSTEM)

    parcel.lifecycle.fire("send", actor=SYSTEM)

    assert parcel.status == "labelling"
    assert parcels["seen"] == ["send"]
    assert sorted(run.effect for run in Run.objects.all()) == ["entered", "own"]


@pytest.mark.django_db
def test_a_hook_that_moved_on_and_undid_it_does_not_end_it(parcels: dict[str, Any]) -> None:
    def there_and_back(ctx: Any) -> None:
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            ctx.record.lifecycle.fire("go_on", actor=SYSTEM)
            raise ZeroDivisionError

    parcels["first"] = there_and_back
    parcel = create(Parcel(), actor=SYSTEM)

    parcel.lifecycle.fire("send", actor=SYSTEM)

    assert [e.transition for e in parcel.lifecycle.history] == ["$create", "send"]
    assert parcels["seen"] == ["send"]


@pytest.mark.django_db
def test_moving_another_record_does_not_end_it(parcels: dict[str, Any]) -> None:
    other = create(Ticket(), actor=SYSTEM)
    parcels["first"] = lambda ctx: fire(other, "touch", actor=SYSTEM)
    parcel = create(Parcel(), actor=SYSTEM)

    parcel.lifecycle.fire("send", actor=SYSTEM)

    assert parcels["seen"] == ["send"]
    assert other.lifecycle_version == 2


@pytest.mark.django_db
def test_a_nested_failure_takes_everything_back(parcels: dict[str, Any]) -> None:
    other = create(Ticket(), actor=SYSTEM)

    def touch_and_fail(ctx: Any) -> None:
        fire(other, "touch", actor=SYSTEM)
        raise ZeroDivisionError

    parcels["second"] = touch_and_fail
    parcel = create(Parcel(), actor=SYSTEM)

    with pytest.raises(ZeroDivisionError):
        parcel.lifecycle.fire("send", actor=SYSTEM)

    assert Ticket.objects.get(pk=other.pk).lifecycle_version == 1
    assert Parcel.objects.get(pk=parcel.pk).status == "packed"
    assert TransitionLog.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_signals_come_after_the_commit_in_the_order_of_the_entries(
    parcels: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    told.clear()
    parcels["second"] = lambda ctx: ctx.record.lifecycle.fire("go_on", actor=SYSTEM)

    with transaction.atomic():
        parcel.lifecycle.fire("send", actor=SYSTEM)
        assert told == []

    assert [pair for pair in told if pair[0] == "committed"] == [("committed", "send"), ("committed", "go_on")]
    assert ("available", "back") in told
    assert told.index(("committed", "send")) < told.index(("committed", "go_on"))


@pytest.mark.django_db(transaction=True)
def test_nothing_is_told_of_what_was_rolled_back(told: list[tuple[str, str]]) -> None:
    ticket = create(Ticket(), actor=SYSTEM)
    told.clear()

    with transaction.atomic():
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            ticket.lifecycle.fire("ask", actor=SYSTEM)
            raise ZeroDivisionError
        Ticket.objects.get(pk=ticket.pk).lifecycle.fire("touch", actor=SYSTEM)

    assert [pair for pair in told if pair[0] == "committed"] == [("committed", "touch")]


@pytest.mark.django_db(transaction=True)
def test_a_listener_that_fails_disturbs_nobody(told: list[tuple[str, str]], caplog: Any) -> None:
    """aasm/aasm #854, #851: one failing callback lost the others."""

    def broken(sender: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError

    signals.transition_committed.connect(broken)
    try:
        ticket = create(Ticket(), actor=SYSTEM)
    finally:
        signals.transition_committed.disconnect(broken)

    assert ticket.lifecycle_version == 1
    assert ("entered", "$create") in told
    assert "A listener failed" in caplog.text
