"""Expired leases: runs whose worker is gone."""

from __future__ import annotations

from lifecycle.execution import crashes
from lifecycle.sweeps.passes import Pass

BATCH = 200


def run_once(turn: Pass) -> None:
    """Takes runs back from workers that stopped renewing, batch by batch; each goes back to its queue or is dead."""
    while turn.has_time():
        taken = crashes.take_back(turn.using, limit=BATCH)
        turn.done += taken.queued + taken.dead
        if not taken.more:
            return
