"""Limits: from when on the doctor, the health view and whoever watches call something late."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from lifecycle import conf


def _tick() -> dt.timedelta:
    # A pass may take a while and a worker may be busy: twelve missed ticks are no coincidence.
    return max(dt.timedelta(seconds=60), 12 * conf.options().tick_every)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Durations after which something is reported.

    Attributes:
        overdue: a run may be due for so long before it is reported as undone.
        tick: the last pass may be so old, and a lost worker's lease so long over.
        skew: so far the application's and the database's clocks may be apart.
        broker: so many seconds the broker has to answer.
        examples: how many records, runs or names a finding lists.
    """

    overdue: dt.timedelta = dt.timedelta(minutes=5)
    tick: dt.timedelta = field(default_factory=_tick)
    skew: dt.timedelta = dt.timedelta(seconds=5)
    broker: float = 5.0
    examples: int = 5
