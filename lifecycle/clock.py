"""The clock: the one place that asks what time it is."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_override: Callable[[], dt.datetime] | None = None


def now() -> dt.datetime:
    """The application's time, UTC with microseconds; tests may have replaced it."""
    if _override is not None:
        return _override()
    return dt.datetime.now(dt.UTC)


def overridden() -> dt.datetime | None:
    """The replaced time, or None when real time runs.

    The store passes this to SQL in place of the database's own clock, so that a test that travels in time moves
    leases, due times and history alike.
    """
    return _override() if _override is not None else None


def monotonic() -> float:
    """Seconds that only grow; for budgets and breakers inside one process, never stored."""
    return time.monotonic()


@contextmanager
def replaced(source: Callable[[], dt.datetime]) -> Iterator[None]:
    """While open, `now` answers what ``source`` answers (process-wide: a test is one process)."""
    global _override  # noqa: PLW0603 the one thing that tests replace
    before, _override = _override, source
    try:
        yield
    finally:
        _override = before
