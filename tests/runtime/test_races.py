"""Two connections at once: one commits, the other gets a replay, a refusal or a conflict."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from lifecycle import SYSTEM, Actor
from lifecycle.exceptions import Conflict, RequestReused, WrongState
from lifecycle.models import TransitionLog
from lifecycle.runtime import create
from lifecycle.runtime.verbs.creation import begin
from lifecycle.testing import race
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Races the calls; values and errors in their order."""
    return [finish.value if finish.won else finish.error for finish in race(*calls)]


def fresh(ticket: Ticket) -> Ticket:
    return Ticket.objects.get(pk=ticket.pk)


def test_of_two_who_press_the_same_button_one_moves_the_record() -> None:
    ticket = create(Ticket(), actor=SYSTEM)

    answers = at_once(
        *[
            lambda who=who: fresh(ticket).lifecycle.fire("ask", actor=Actor(who), expect_version=1)  # type: ignore[misc]
            for who in ("a", "b", "c", "d")
        ]
    )

    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict", "Conflict", "Conflict", "Fired"]
    assert fresh(ticket).lifecycle_version == 2
    assert TransitionLog.objects.filter(transition="ask").count() == 1


def test_of_two_transitions_out_of_one_state_the_second_is_told_the_state() -> None:
    ticket = create(Ticket(), actor=SYSTEM)
    ticket.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x"})

    answers = at_once(
        lambda: fresh(ticket).lifecycle.fire("close", actor=SYSTEM),
        lambda: fresh(ticket).lifecycle.fire("reopen", actor=SYSTEM),
    )

    refused = [answer for answer in answers if isinstance(answer, (WrongState, Conflict))]
    assert len(refused) == 1
    assert fresh(ticket).lifecycle_version == 3


def test_the_same_request_sent_at_once_takes_effect_once_and_all_get_the_first_answer() -> None:
    ticket = create(Ticket(), actor=SYSTEM)

    answers = at_once(
        *[lambda: fresh(ticket).lifecycle.fire("touch", actor=SYSTEM, request_id="r1", input={"a": 1})] * 5
    )

    assert sorted(answer.replayed for answer in answers) == [False, True, True, True, True]
    assert len({answer.entry.pk for answer in answers}) == 1
    assert fresh(ticket).lifecycle_version == 2


def test_the_same_creation_sent_at_once_makes_one_record_and_all_get_it() -> None:
    answers = at_once(*[lambda: begin(Ticket(title="one"), actor=Actor("shop"), request_id="order-1")] * 5)

    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    assert sorted(answer.replayed for answer in answers) == [False, True, True, True, True]
    assert len({answer.record.pk for answer in answers}) == 1
    assert Ticket.objects.count() == 1
    assert TransitionLog.objects.count() == 1


def test_creations_that_differ_under_one_key_make_one_record_and_one_refusal() -> None:
    answers = at_once(
        lambda: begin(Ticket(title="one"), actor=Actor("shop"), request_id="order-1"),
        lambda: begin(Ticket(title="two"), actor=Actor("shop"), request_id="order-1"),
    )

    assert sorted(type(answer).__name__ for answer in answers) == ["Fired", RequestReused.__name__]
    assert Ticket.objects.count() == 1


def test_a_hundred_fires_make_a_hundred_versions() -> None:
    ticket = create(Ticket(), actor=SYSTEM)

    def ten() -> None:
        for _ in range(10):
            fresh(ticket).lifecycle.fire("touch", actor=SYSTEM)

    answers = at_once(*[ten] * 10)

    assert [answer for answer in answers if answer is not None] == []
    assert fresh(ticket).lifecycle_version == 101
    assert list(ticket.lifecycle.history.values_list("version", flat=True)) == list(range(1, 102))


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer: nobody waits for a row")
def test_a_fire_waits_for_the_row_and_decides_on_what_was_committed() -> None:
    ticket = create(Ticket(), actor=SYSTEM)
    locked, release = threading.Event(), threading.Event()

    def slow() -> None:
        with transaction.atomic():
            fresh(ticket).lifecycle.fire("ask", actor=SYSTEM)
            locked.set()
            assert release.wait(timeout=10)

    def quick() -> Any:
        assert locked.wait(timeout=10)
        mine = fresh(ticket)
        assert mine.status == "open", "the other transaction is not committed yet"
        threading.Timer(0.05, release.set).start()
        return mine.lifecycle.fire("touch", actor=SYSTEM)

    _, answer = at_once(slow, quick)

    assert isinstance(answer, WrongState)
    assert fresh(ticket).status == "waiting"
