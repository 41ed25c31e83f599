"""race: two connections at once."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, connections

from lifecycle import SYSTEM
from lifecycle.exceptions import WrongState
from lifecycle.runtime import fire
from lifecycle.testing import meeting, race
from tests.support.models import Ticket


@pytest.mark.django_db(transaction=True)
def test_of_two_who_do_the_same_one_comes_in_first(ticket: Ticket) -> None:
    def ask() -> int:
        return fire(Ticket.objects.get(pk=ticket.pk), "ask", actor=SYSTEM).record.lifecycle_version

    finishes = race(ask, ask)

    assert sorted(finish.won for finish in finishes) == [False, True]
    [won] = [finish for finish in finishes if finish.won]
    [lost] = [finish for finish in finishes if not finish.won]
    assert won.get() == 2
    assert isinstance(lost.error, WrongState)
    with pytest.raises(WrongState):
        lost.get()


@pytest.mark.django_db(transaction=True)
def test_everybody_has_a_connection_of_their_own_and_closes_it() -> None:
    used, sessions = [], [connection.connection]  # kept, so that none's id is given to the next

    def look() -> None:
        connection.ensure_connection()
        used.append(connections["default"])
        sessions.append(connection.connection)

    for finish in race(look, look):
        finish.get()
    assert len({id(session) for session in sessions}) == 3
    assert all(one.connection is None for one in used)


@pytest.mark.django_db(transaction=True)
def test_runners_can_meet_inside() -> None:
    order: list[str] = []
    both = meeting(2, seconds=5)

    def runner(name: str) -> None:
        order.append(f"before {name}")
        both()
        order.append(f"after {name}")

    for finish in race(lambda: runner("a"), lambda: runner("b")):
        finish.get()
    assert {step.split()[0] for step in order[:2]} == {"before"}


@pytest.mark.django_db(transaction=True)
def test_a_meeting_nobody_comes_to_fails() -> None:
    [finish] = race(meeting(2, seconds=0.05))
    assert isinstance(finish.error, threading.BrokenBarrierError)


@pytest.mark.django_db(transaction=True)
def test_a_runner_that_hangs_fails_the_race() -> None:
    release = threading.Event()
    with pytest.raises(AssertionError, match=r"runners \[0\] did not come in within 0\.1 seconds"):
        race(release.wait, seconds=0.1)
    release.set()


@pytest.mark.django_db
def test_a_race_inside_a_transaction_says_what_to_do() -> None:
    with pytest.raises(AssertionError, match="TransactionTestCase"):
        race(lambda: None)
