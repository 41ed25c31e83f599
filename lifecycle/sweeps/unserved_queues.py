"""Unserved queues: due runs whose wake-up was lost, or never sent."""

from __future__ import annotations

from lifecycle import dispatch
from lifecycle.models import due
from lifecycle.store import timing
from lifecycle.sweeps.passes import Pass


def run_once(turn: Pass) -> None:
    """Wakes one worker per queue with due runs: one message however many runs wait, for it drains and fans out."""
    now = timing.now(turn.using)
    for queue, available_at in due.queue_heads(turn.using):
        if available_at <= now:
            turn.done += dispatch.publish(queue)
        if not turn.has_time():
            return
