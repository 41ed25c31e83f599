"""walk: which transitions no test has reached."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lifecycle import SYSTEM
from lifecycle.runtime import fire_many
from lifecycle.store import history
from lifecycle.testing import create_in_state, walk, walking
from tests.support.lifecycles import TicketLifecycle
from tests.support.models import Ticket
from tests.testing.conftest import fired

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    walking.stop()
    walking.start()
    yield
    walking.stop()


def test_what_was_not_fired_is_missing(ticket: Ticket) -> None:
    fired(ticket, "ask", "reply", "touch")
    seen = walk(TicketLifecycle)
    assert seen.reached == ("ask", "reply", "touch")
    assert seen.missing == ("solve", "escalate", "close", "reopen", "triage")
    assert not seen
    assert "never fired: solve, escalate" in str(seen)


def test_states_and_sources_that_were_left_out_are_told(ticket: Ticket) -> None:
    ticket.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "Water."})
    seen = walk("tickets")
    assert ("solve", "waiting") in seen.missing_steps
    assert ("solve", "open") not in seen.missing_steps
    assert seen.missing_states == ("waiting", "escalated", "closed")


def test_batches_count(db: None) -> None:
    for _ in range(2):
        create_in_state(Ticket, "solved")
    fire_many(Ticket.objects.all(), "reopen", actor=SYSTEM)
    assert walk(TicketLifecycle).reached == ("reopen",)


def test_refused_firings_do_not_count(ticket: Ticket) -> None:
    assert not ticket.lifecycle.can("reopen", actor=SYSTEM)
    assert walk(TicketLifecycle).reached == ()


def test_stopping_leaves_no_trace() -> None:
    noting = history.append
    walking.stop()
    assert history.append is not noting
    assert history.append.__module__ == "lifecycle.store.history"
