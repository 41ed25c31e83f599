"""Kit: everything a test of a lifecycle needs, put back when the test ends."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from lifecycle import dispatch
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.models.writes import bypass
from lifecycle.testing import arrangements
from lifecycle.testing.assertions import assert_history, assert_nothing_pending, assert_pending, assert_refused
from lifecycle.testing.draining import run_due, tick
from lifecycle.testing.failing import fail_effect
from lifecycle.testing.racing import meeting, race
from lifecycle.testing.replacing import use_services
from lifecycle.testing.statements import assert_statements
from lifecycle.testing.states import create_in_state, force_state
from lifecycle.testing.travelling import travel
from lifecycle.testing.walking import walk


class Kit:
    """The test kit under one name: the fixture ``lifecycle``, or ``self.lifecycle`` of `LifecycleTestMixin`.

    While it is open nobody is woken after a commit: ``dispatcher`` remembers who would have been, and `run_due` does
    the work where the test says so.
    """

    run_due = staticmethod(run_due)
    tick = staticmethod(tick)
    travel = staticmethod(travel)
    fail_effect = staticmethod(fail_effect)
    use_services = staticmethod(use_services)
    force_state = staticmethod(force_state)
    create_in_state = staticmethod(create_in_state)
    bypass = staticmethod(bypass)
    assert_refused = staticmethod(assert_refused)
    assert_history = staticmethod(assert_history)
    assert_pending = staticmethod(assert_pending)
    assert_nothing_pending = staticmethod(assert_nothing_pending)
    assert_statements = staticmethod(assert_statements)
    walk = staticmethod(walk)
    race = staticmethod(race)
    meeting = staticmethod(meeting)

    def __init__(self) -> None:
        self.dispatcher = RecordingDispatcher()

    def __enter__(self) -> Self:
        arrangements.Arrangement(dispatch.replaced(self.dispatcher))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        arrangements.reset()
