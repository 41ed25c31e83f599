"""Runs of any kind: the worker asks the kind, and leaves alone what it does not know or may not start."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from lifecycle import clock
from lifecycle.definition.retries import Retry
from lifecycle.execution import finishing, kinds
from lifecycle.execution.crashes import take_back
from lifecycle.execution.drain import drain
from lifecycle.execution.kinds import Ready
from lifecycle.models import Run
from lifecycle.store import claims, outcomes, timing
from tests.execution.rows import USING, claim, expire, queue_run

pytestmark = pytest.mark.django_db


@dataclass
class Errand:
    """A kind of a test's own: calls a function, follows nothing, notes what it was asked for."""

    does: Any = None
    asked: list[str] = field(default_factory=list)
    options: Any = field(
        default_factory=lambda: SimpleNamespace(
            name="errand", timeout=None, heartbeat_timeout=None, retry=Retry(attempts=2), atomic=False
        )
    )

    def work(self, held: Any) -> Errand:
        return self

    def prepare(self, start: Any) -> Ready:
        self.asked.append("prepare")
        return Ready(subject="the subject")

    def call(self, start: Any, subject: Any, watch: Any, limits: Any) -> Any:
        self.asked.append(f"call with {subject}")
        return self.does() if self.does is not None else {"done": True}

    def checked(self, result: Any) -> Any:
        return result

    def succeeded(self, start: Any, result: Any, wanted: Any) -> Any:
        finished, following = claims.for_alias(start.using).finish_and_claim(start.held, result, wanted)
        assert finished
        return following

    def failed(self, start: Any, failure: Any) -> None:
        self.asked.append("failed")
        if not outcomes.fail(start.held, failure, timing.now(start.using), start.using, follow_up=False):
            raise finishing.lost(start.held)

    def attempt_failed(self, start: Any, verdict: Any, error: BaseException) -> None:
        self.asked.append(f"attempt failed with {error}")

    def died(self, run: Any, now: Any, using: str) -> None:
        self.asked.append("died")

    def is_followed(self, run: Any) -> bool:
        return False


@pytest.fixture
def errand() -> Iterator[Errand]:
    """The kind ``errand``, for one test."""
    made = Errand()
    kinds.register("errand", made)  # type: ignore[arg-type]
    yield made
    kinds._kinds.pop("errand")


def an_errand(**values: Any) -> Run:
    """A run that no transition asked for."""
    run = queue_run(max_attempts=2, **values)
    Run.objects.filter(pk=run.pk).update(kind="errand", entry=None, lifecycle="", record_id="", effect="errand")
    run.refresh_from_db()
    return run


def test_a_run_without_an_entry_is_called_and_finished_as_its_kind_says(errand: Errand) -> None:
    run = an_errand()

    drain()

    run.refresh_from_db()
    assert (run.status, run.result, run.entry) == ("succeeded", {"done": True}, None)
    assert errand.asked == ["prepare", "call with the subject"]


def test_its_failures_are_tried_again_and_then_its_kind_is_asked_what_follows(errand: Errand) -> None:
    def no() -> None:
        raise ValueError("no")

    errand.does = no
    run = an_errand()

    drain()
    Run.objects.filter(pk=run.pk).update(available_at=clock.now())
    drain()

    run.refresh_from_db()
    assert (run.status, run.attempts, run.error) == ("failed", 2, "ValueError: no")
    assert errand.asked.count("failed") == 1
    assert errand.asked.count("attempt failed with no") == 2


def test_its_death_is_its_kinds_business(errand: Errand) -> None:
    run = an_errand(max_crashes=1)
    claim()
    expire(run)

    take_back(USING)

    run.refresh_from_db()
    assert (run.status, run.follow_up) == ("dead", "none")
    assert errand.asked == ["died"]


def test_a_kind_that_this_process_does_not_have_is_left_to_another() -> None:
    run = an_errand()

    drain()

    run.refresh_from_db()
    assert (run.status, run.attempts, run.crashes) == ("queued", 0, 0)
    assert run.available_at > clock.now()


def test_the_death_of_an_unknown_kind_keeps_what_may_follow() -> None:
    run = an_errand(max_crashes=1)
    claim()
    expire(run)

    take_back(USING)

    run.refresh_from_db()
    assert (run.status, run.follow_up) == ("dead", "pending")


def test_a_held_run_is_not_taken_and_keeps_no_other_back(errand: Errand) -> None:
    held, other = an_errand(available_at=clock.now() - dt.timedelta(hours=1)), an_errand()
    Run.objects.filter(pk=held.pk).update(status="held")

    drain()

    held.refresh_from_db()
    other.refresh_from_db()
    assert (held.status, other.status) == ("held", "succeeded")
