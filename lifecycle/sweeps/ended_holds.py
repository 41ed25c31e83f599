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


def run_once(turn: Pass, *, everything: bool = False) -> None:
    """Deletes holds whose record moved on or is gone: those due for another try, or (the slow pass) all of them."""
    now = timing.now(turn.using)
    if not everything:
        _drop(holds.to_be_tried(now, BATCH, turn.using), now, turn)
        return
    after = 0
    while turn.has_time():
        found = holds.page(after, BATCH, turn.using)
        _drop(found, now, turn)
        if len(found) < BATCH:
            return
        after = found[-1].pk


def _drop(found: list[TriggerHold], now: dt.datetime, turn: Pass) -> None:
    forgotten = [row.pk for row in found if row.retry_at < now - FORGOTTEN]
    turn.done += holds.delete(forgotten, turn.using)
    rest = sorted((row for row in found if row.pk not in set(forgotten)), key=lambda row: row.lifecycle)
    for name, rows in groupby(rest, key=lambda row: row.lifecycle):
        definition = registry.find(name)
        if definition is not None:  # else another process knows it: a deployment is rolling
            turn.done += holds.drop_ended(definition, list(rows), turn.using)
