"""Breaker: after a failure, nobody tries again for a while."""

from __future__ import annotations

import threading

from lifecycle import clock


class Breaker:
    """A circuit breaker for one broker and one process.

    Closed, everybody may try. After a failure nobody does for 1, 2, 4, … seconds (at most ``maximum``), then exactly
    one caller tries while the others still pass by. So an outage costs one caller per period whatever a try costs, and
    nobody else anything.
    """

    def __init__(self, maximum: float) -> None:
        self.maximum = maximum
        self.reset()

    def reset(self) -> None:
        """Back to closed; also what a forked child does, whose copy of the lock may be held by nobody alive."""
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_until = 0.0
        self._period = 0  # grows with every failure that counted; a permit of an older period tells nothing new

    @property
    def open(self) -> bool:
        """Whether the last try failed."""
        return self._failures > 0

    def permit(self) -> int | None:
        """A permit to try now, or None: pass by."""
        with self._lock:
            if not self._failures:
                return self._period
            now = clock.monotonic()
            if now < self._closed_until:
                return None
            # Half open: this caller tries, the others pass by until its answer — or for a period, should none come.
            self._closed_until = now + self._pause()
            return self._period

    def failed(self, permit: int) -> bool:
        """Reports a failed try; True when it begins an outage (the one moment worth a log line)."""
        with self._lock:
            if permit != self._period:
                # Several tried at the moment the broker died; the first to learn it spoke for all of them.
                return False
            self._period += 1
            self._failures += 1
            self._closed_until = clock.monotonic() + self._pause()
            return self._failures == 1

    def succeeded(self) -> bool:
        """Reports that it worked; True when this ends an outage."""
        if not self._failures:
            return False
        with self._lock:
            recovered = self._failures > 0
            self._failures = 0
            return recovered

    def _pause(self) -> float:
        return min(2.0 ** min(max(self._failures, 1) - 1, 16), self.maximum)
