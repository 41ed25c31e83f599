"""travel and tick: time in tests."""

from __future__ import annotations

import datetime as dt

import pytest

from lifecycle import SYSTEM, clock
from lifecycle.testing import reset, travel
from lifecycle.testing.kit import Kit
from tests.support.models import Ticket
from tests.testing.conftest import fired


def real() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def close_to(moment: dt.datetime) -> bool:
    return abs(clock.now() - moment) < dt.timedelta(seconds=5)


def test_a_journey_lasts_as_long_as_its_block() -> None:
    with travel(days=3, hours=2):
        assert close_to(real() + dt.timedelta(days=3, hours=2))
        with travel(days=-1):
            assert close_to(real() + dt.timedelta(days=2, hours=2))
        assert close_to(real() + dt.timedelta(days=3, hours=2))
    assert clock.overridden() is None


def test_a_journey_of_the_fixture_lasts_until_the_test_ends(lifecycle: Kit) -> None:
    lifecycle.travel(hours=1)
    lifecycle.travel(minutes=30)
    assert close_to(real() + dt.timedelta(minutes=90))
    reset()
    assert clock.overridden() is None


def test_the_clock_ticks_on_unless_it_is_stopped() -> None:
    with travel(days=1):
        assert clock.now() < clock.now() + dt.timedelta(microseconds=1)
    with travel(days=1, stop=True):
        assert clock.now() == clock.now()
        with travel(minutes=1):
            first = clock.now()
            assert first == clock.now()


def test_a_moment_can_be_named() -> None:
    moment = dt.datetime(2031, 5, 1, 12, tzinfo=dt.UTC)
    with travel(to=moment, stop=True):
        assert clock.now() == moment
    with travel(to=dt.datetime(2031, 5, 1, 12), hours=1, stop=True):  # noqa: DTZ001 naive on purpose
        assert clock.now() == moment + dt.timedelta(hours=1)


def test_a_journey_starts_where_a_replaced_clock_stands() -> None:
    moment = dt.datetime(2031, 5, 1, 12, tzinfo=dt.UTC)
    with clock.replaced(lambda: moment):
        with travel(days=1):
            assert clock.now() == moment + dt.timedelta(days=1)
        assert clock.now() == moment


def test_journeys_may_end_in_any_order() -> None:
    first, second = travel(days=1), travel(days=10)
    first.undo()
    assert close_to(real() + dt.timedelta(days=10))
    second.undo()
    first.undo()
    assert clock.overridden() is None


@pytest.mark.django_db
def test_history_is_written_at_the_time_travelled_to(lifecycle: Kit, ticket: Ticket) -> None:
    lifecycle.travel(days=400)
    [_, entry] = lifecycle.assert_history(fired(ticket, "ask"), ["$create", "ask"])
    assert abs(entry.at - (real() + dt.timedelta(days=400))) < dt.timedelta(seconds=5)


@pytest.mark.django_db
def test_a_timeout_fires_when_its_time_has_come(lifecycle: Kit, ticket: Ticket) -> None:
    ticket.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "Water."})
    lifecycle.travel(days=1)
    lifecycle.tick()
    ticket.refresh_from_db()
    assert ticket.status == "solved"

    lifecycle.travel(days=1, seconds=1)
    lifecycle.tick()

    ticket.refresh_from_db()
    assert ticket.status == "closed"
    lifecycle.assert_history(ticket, ["$create", "solve", "close"])
