"""Limits: how long an attempt may take, and how long its code may stay silent."""

from __future__ import annotations

import datetime as dt

from lifecycle import clock

FOR_EVER = float("inf")


class TimedOut(BaseException):
    """Raised inside an effect whose time is up; no ``Exception``, so that ``except Exception`` does not swallow it."""


class FellSilent(TimedOut):
    """The same in code that sent no heartbeat for as long as it may be silent."""


class Limits:
    """One attempt's limits, counted from now on. Read by the alarm and by the watchdog's thread.

    Args:
        timeout: how long the attempt may take; None: as long as it likes.
        silence: how long the code may go without a heartbeat; None: as long as it likes.
    """

    def __init__(self, timeout: dt.timedelta | None, silence: dt.timedelta | None = None) -> None:
        self._silence = FOR_EVER if silence is None else silence.total_seconds()
        self._spoke_at = clock.monotonic()
        self.deadline = FOR_EVER if timeout is None else self._spoke_at + timeout.total_seconds()

    @property
    def ends_at(self) -> float:
        """When the attempt ends, unless a heartbeat comes before."""
        return min(self.deadline, self._spoke_at + self._silence)

    def spoke(self) -> None:
        """The code sent a heartbeat."""
        self._spoke_at = clock.monotonic()

    def exceeded(self) -> TimedOut:
        """Which limit it is that ends the attempt."""
        return TimedOut() if self.deadline <= self._spoke_at + self._silence else FellSilent()
