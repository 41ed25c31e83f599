"""Travel: the library's clock, moved for a test."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from django.utils import timezone

from lifecycle import clock
from lifecycle.testing.arrangements import Arrangement


class Journey:
    """One move of the clock: so far from where it stood, ticking on or stopped."""

    def __init__(self, distance: dt.timedelta, stopped_at: dt.datetime | None) -> None:
        self.distance = distance
        self.stopped_at = stopped_at


# Those in force, in the order they began; and what replaces the clock while there are any.
_journeys: list[Journey] = []
_replacement = ExitStack()


def travel(
    to: dt.datetime | None = None,
    *,
    weeks: float = 0,
    days: float = 0,
    hours: float = 0,
    minutes: float = 0,
    seconds: float = 0,
    stop: bool = False,
) -> Arrangement[Journey]:
    """Moves the clock of the whole process: leases, due times, timeouts and history follow it.

    It moves `lifecycle.clock` — what guards and effects are given as ``ctx.now`` — not Python's own.

    Args:
        to: a moment to go to (naive: in the current time zone); the other arguments are added to it.
        stop: the clock stands still there, instead of ticking on.

    Returns:
        The journey, in force at once; as a context manager it ends with the block.
    """
    now = clock.now()
    start = now if to is None else timezone.make_aware(to) if timezone.is_naive(to) else to
    end = start + dt.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return Arrangement(_away(Journey(end - now, end if stop else None)))


@contextmanager
def _away(journey: Journey) -> Iterator[Journey]:
    # One replacement for all journeys: they may end in any order, which nested ones could not.
    if not _journeys:
        _replacement.enter_context(clock.replaced(_clock_from(clock.overridden())))
    _journeys.append(journey)
    try:
        yield journey
    finally:
        _journeys.remove(journey)
        if not _journeys:
            _replacement.close()


def _clock_from(stood_at: dt.datetime | None) -> Callable[[], dt.datetime]:
    """The clock as the journeys make it, from where it stood (None: real time)."""

    def now() -> dt.datetime:
        moment = stood_at or dt.datetime.now(dt.UTC)
        for journey in _journeys:
            moment = journey.stopped_at if journey.stopped_at is not None else moment + journey.distance
        return moment

    return now
