"""Outage: a time in which no lease could be renewed; whoever still works then comes before whoever takes back."""

from __future__ import annotations

import datetime as dt
import logging
from typing import Any

from lifecycle import clock, conf
from lifecycle.store import lost_leases, ticks, timing

log = logging.getLogger("lifecycle.sweeps")

# The row that says when leases were last looked at, by whichever process: all of them judge by it.
LEASES = "leases"
# Workers that cannot renew try again every second; so long they get at most once the database is back.
LONGEST_WAIT = dt.timedelta(seconds=15)


class Leases:
    """One look at a database's expired leases.

    When nobody could look for longer than leases last, the database was away, or all who look were: the leases of
    living workers are over too, though they have outcomes in hand. Then holders get one interval to renew first.
    How long nobody looked is judged by how often somebody looks usually, so that a tick by cron is no outage.
    """

    def __init__(self, using: str) -> None:
        self.using = using
        self.wait = _interval(conf.options().lease)
        self.now = timing.now(using)
        row = ticks.read(LEASES, using)
        counts: dict[str, Any] = row.counts if row is not None else {}
        self._next_at = row.next_at if row is not None else None
        self._gap = self.now - row.last_finished_at if row is not None and row.last_finished_at else dt.timedelta(0)
        self._usual = max(dt.timedelta(seconds=float(counts.get("every") or 0)), conf.options().tick_every)
        # Where the last pass ran out of time among runs it could not take back.
        self.resume_at = dt.datetime.fromisoformat(counts["resume_at"]) if counts.get("resume_at") else None

    def are_their_holders(self) -> bool:
        """Whether nothing may be taken back yet."""
        if clock.overridden() is not None:  # a test that travels was not away
            return False
        if self._next_at is not None and self.now < self._next_at <= self.now + LONGEST_WAIT:
            self._note(self._next_at, resume_at=self.resume_at)
            return True
        if self._gap <= 2 * self._usual:
            return False
        ended = lost_leases.expired_lengths(self.now, self.using)
        # A lease is renewed after a quarter of its length at the latest; the rest is what an outage must outlast.
        if ended is None or self._gap < 0.75 * ended[0]:
            return False
        self.wait = _interval(ended[1])
        self.hold_back(self._gap)
        return True

    def hold_back(self, away: dt.timedelta) -> None:
        """Takes nothing back until those who still work had time to renew."""
        log.warning(
            "Nobody could look at the leases on '%s' for %g s; workers get %g s to renew before any is taken back.",
            self.using,
            away.total_seconds(),
            self.wait.total_seconds(),
        )
        self._note(timing.now(self.using) + self.wait, resume_at=self.resume_at)

    def looked_at(self, resume_at: dt.datetime | None) -> None:
        """The pass is over; the next one goes on at ``resume_at``, or from the start."""
        self._note(self.now, resume_at=resume_at)

    def _note(self, next_at: dt.datetime, *, resume_at: dt.datetime | None) -> None:
        # What is usual is learned slowly: two outages in a row are not.
        every = min(self._gap, 2 * self._usual).total_seconds()
        counts = {"every": round(every, 3), "resume_at": resume_at.isoformat() if resume_at is not None else None}
        ticks.note(LEASES, next_at, counts, self.using)


def _interval(lease: dt.timedelta) -> dt.timedelta:
    return min(lease / 4, LONGEST_WAIT)
