"""Ended holds: parked triggers whose stay is over."""

from __future__ import annotations

import datetime as dt
from itertools import groupby

from lifecycle import registry
from lifecycle.models import TriggerHold
from lifecycle.store import holds, timing
from lifecycle.sweeps.passes import Pass

BATCH = 200
# A hold nobody came back for, of a stay that goes on: the window was lengthened, the date moved, the trigger removed.
FORGOTTEN = dt.timedelta(days=1)


def run_once(sweep: Pass, *, everything: bool = False) -> None:
    """Deletes holds whose record moved on or is gone: those due for another try, or (the slow pass) all of them."""
    now = timing.now(sweep.using)
    if not everything:
        _drop(holds.to_be_tried(now, BATCH, sweep.using), now, sweep)
        return
    after = 0
    while sweep.has_time():
        found = holds.page(after, BATCH, sweep.using)
        _drop(found, now, sweep)
        if len(found) < BATCH:
            return
        after = found[-1].pk


def _drop(found: list[TriggerHold], now: dt.datetime, sweep: Pass) -> None:
    forgotten = [row.pk for row in found if row.retry_at < now - FORGOTTEN]
    sweep.done += holds.delete(forgotten, sweep.using)
    rest = sorted((row for row in found if row.pk not in set(forgotten)), key=lambda row: row.lifecycle)
    for name, rows in groupby(rest, key=lambda row: row.lifecycle):
        definition = registry.find(name)
        if definition is not None:  # else another process knows it: a deployment is rolling
            sweep.done += holds.drop_ended(definition, list(rows), sweep.using)
