"""Unserved queues: due runs whose wake-up was lost, or never sent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from lifecycle import dispatch
from lifecycle.models import due
from lifecycle.store import ticks, timing
from lifecycle.sweeps.passes import Pass

NOTED = "unserved_queues"
# A message that was taken by the broker may wait there for a busy worker, or for one that never comes: another one a
# tick later helps neither.
FIRST_PAUSE = dt.timedelta(seconds=30)
LONGEST_PAUSE = dt.timedelta(minutes=15)


def run_once(sweep: Pass) -> None:
    """Wakes one worker per queue with due runs: one message however many runs wait, for it drains and fans out.

    As long as nothing is taken from a queue it is woken again with growing pauses only.
    """
    now = timing.now(sweep.using)
    waiting = [(queue, first) for queue, first in due.queue_heads(sweep.using) if first <= now]
    if not waiting:
        return
    before = _noted(sweep.using)
    after = dict(before)
    for queue, first in waiting:
        seen = before.get(queue, {})
        if seen.get("first") != first.isoformat():  # something was taken, or is due for the first time
            seen = {}
        elif dt.datetime.fromisoformat(seen["again"]) > now:
            continue
        if dispatch.publish(queue):
            sweep.done += 1
            after[queue] = _next(first, seen, now)
        if not sweep.has_time():
            break
    if after != before:
        still = {queue for queue, _ in waiting}
        ticks.note(NOTED, now, {queue: seen for queue, seen in after.items() if queue in still}, sweep.using)


def _noted(using: str) -> Mapping[str, Any]:
    row = ticks.read(NOTED, using)
    return row.counts if row is not None else {}


def _next(first: dt.datetime, seen: Mapping[str, Any], now: dt.datetime) -> dict[str, Any]:
    """What is noted of a queue that was woken just now: its first run, and when it is woken again if that stays so."""
    pause = min(2 * dt.timedelta(seconds=seen["pause"]), LONGEST_PAUSE) if seen else FIRST_PAUSE
    # As text of one form, in UTC: JSON would cut the microseconds.
    return {"first": first.isoformat(), "pause": pause.total_seconds(), "again": (now + pause).isoformat()}
