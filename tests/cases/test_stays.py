"""What the end of a stay does to work that belongs to it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from lifecycle import SYSTEM, RetryAt, effect
from lifecycle.execution.drain import drain
from lifecycle.models import Run
from lifecycle.runtime import create, fire
from lifecycle.testing import travel
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db


@pytest.fixture
def calls(behave: dict[str, Any]) -> list[int]:
    found: list[int] = []

    def call(ctx: Any) -> dict[str, str]:
        found.append(ctx.attempt)
        return {"label": "L"}

    behave["print_label"] = call
    return found


def left() -> Parcel:
    """A parcel that has left the state whose entering enqueued its label."""
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    fire(parcel, "take_back", actor=SYSTEM)
    return parcel


def the_run() -> Run:
    found: Run = Run.objects.get(effect="print_label")
    return found


@pytest.mark.row("K11")
def test_a_stay_bound_effect_is_called_after_the_stay_and_only_its_follow_up_is_dropped(calls: list[int]) -> None:
    parcel = left()

    drain()

    assert calls == [1]
    assert (the_run().status, the_run().follow_up) == ("succeeded", "dropped")
    assert Parcel.objects.get(pk=parcel.pk).status == "returned"


@pytest.mark.row("K11")
def test_one_that_is_for_its_stay_only_is_not_called_after_it(calls: list[int], short: Callable[..., None]) -> None:
    short("print_label", only_during_stay=True)
    left()

    drain()

    run = the_run()
    assert calls == []
    assert (run.status, run.attempts, run.error_kind) == ("cancelled", 0, "stay_ended")
    assert run.error == "The stay that asked for this is over; the effect was not called."


@pytest.mark.row("K11")
def test_it_is_called_during_the_stay_and_not_again_after_it(
    behave: dict[str, Any], short: Callable[..., None]
) -> None:
    short("print_label", only_during_stay=True)
    calls: list[int] = []

    def later(ctx: Any) -> None:
        calls.append(ctx.attempt)
        raise RetryAt(dt.timedelta(minutes=1))

    behave["print_label"] = later
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    drain()
    fire(parcel, "take_back", actor=SYSTEM)
    with travel(minutes=2):
        drain()

    assert calls == [1]
    assert the_run().status == "cancelled"


@pytest.mark.row("K11")
def test_an_effect_of_a_transition_belongs_to_the_stay_it_begins_when_it_is_for_that_only() -> None:
    from tests.definition.test_declaring import Base

    class Process(Base):
        @effect(on="close", only_during_stay=True)
        def tell(self, ctx: Any) -> None: ...

    found = Process.definition.effects["tell"]
    assert (found.only_during_stay, found.stay_bound) == (True, True)
