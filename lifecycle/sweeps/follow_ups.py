"""Follow-ups: outcomes that are recorded, whose transition was refused and is due for another try."""

from __future__ import annotations

from lifecycle.execution import follow_ups
from lifecycle.models import due
from lifecycle.store import timing
from lifecycle.sweeps.passes import Pass

BATCH = 200


def run_once(sweep: Pass) -> None:
    """Tries each due follow-up once; one refused again has moved its own time, one that fails hard is passed."""
    now = timing.now(sweep.using)
    after = None
    while sweep.has_time():
        rows = due.pending_follow_ups(sweep.using, now, after).values_list("id", "follow_up_due_at")
        found = list(rows[:BATCH])
        for run_id, due_at in found:
            if not sweep.has_time():
                return
            with sweep.contained(f"Follow-up of run {run_id}"):
                follow_ups.apply(run_id, sweep.using)
                sweep.done += 1
            after = (due_at, run_id)
        if len(found) < BATCH:
            return
