"""Runs a reminder enqueues: while the stay lasts, again and again."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from lifecycle import SYSTEM, clock
from lifecycle.execution import crashes
from lifecycle.execution.drain import drain
from lifecycle.models import Run
from lifecycle.runtime import create, fire
from lifecycle.testing import fail_effect, travel
from tests.execution.rows import USING, claim, expire
from tests.support import lifecycles
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db


@pytest.fixture
def ticket() -> Ticket:
    record = create(Ticket(), actor=SYSTEM)
    fire(record, "ask", actor=SYSTEM)
    return record


def nudges() -> list[Any]:
    return [call for call in lifecycles.calls if call[0] == "nudge"]


def test_a_reminder_calls_its_effect_and_enqueues_the_next_one_for_the_same_stay(ticket: Ticket) -> None:
    first = Run.objects.get()
    assert drain().done == 0

    with travel(hours=4, seconds=1):
        assert drain().done == 1

    assert nudges() == [("nudge", str(ticket.pk))]
    second = Run.objects.latest("id")
    assert second.status == "queued"
    assert second.available_at == first.available_at + dt.timedelta(hours=8)
    same = ("entry_id", "record_id", "effect", "queue", "stay_version", "reminder", "lease_seconds", "max_attempts")
    assert [getattr(second, name) for name in same] == [getattr(first, name) for name in same]
    assert second.idempotency_key != first.idempotency_key


def test_a_reminder_of_a_stay_that_is_over_is_cancelled_without_a_call(ticket: Ticket) -> None:
    fire(ticket, "reply", actor=SYSTEM)

    with travel(hours=4, seconds=1):
        drain()

    run = Run.objects.get()
    assert (run.status, run.error_kind, run.attempts, run.lease_until) == ("cancelled", "stay_ended", 0, None)
    assert nudges() == []


def test_a_reminder_whose_effect_ends_the_stay_enqueues_no_next_one(
    ticket: Ticket, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifecycle.execution import interference

    monkeypatch.setattr(interference, "before", lambda *facts: fire(ticket, "reply", actor=SYSTEM))

    with travel(hours=4, seconds=1):
        drain()

    assert Run.objects.count() == 1


def test_missed_occurrences_are_not_made_up_for(ticket: Ticket) -> None:
    """akvo #5249: a slow schedule piled up."""
    first = Run.objects.get()

    with travel(hours=4 + 8 * 3, seconds=1):
        drain()

    assert len(nudges()) == 1
    assert Run.objects.latest("id").available_at == first.available_at + dt.timedelta(hours=8 * 4)


def test_a_reminder_that_fails_for_good_comes_again_at_its_next_occurrence(ticket: Ticket) -> None:
    with fail_effect("tickets.nudge"), travel(hours=4, seconds=1):
        drain()

    assert sorted(Run.objects.values_list("status", flat=True)) == ["failed", "queued"]


def test_a_reminder_whose_workers_died_comes_again_at_its_next_occurrence(ticket: Ticket) -> None:
    Run.objects.update(crashes=2, available_at=clock.now())
    expire(claim())

    crashes.take_back(USING)

    assert sorted(Run.objects.values_list("status", flat=True)) == ["dead", "queued"]
