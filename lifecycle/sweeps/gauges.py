"""Gauges: how much is due, under way and stuck; stored on the tick's row for pages and collectors to read."""

from __future__ import annotations

from lifecycle.models import due
from lifecycle.store import timing
from lifecycle.sweeps.passes import Pass


def run_once(turn: Pass) -> None:
    """Counts what the small indexes can answer; each count stops at a limit: a backlog must not slow its own cure."""
    now = timing.now(turn.using)
    heads = [at for _, at in due.queue_heads(turn.using) if at <= now]
    turn.facts |= {
        "oldest_due_seconds": round(max(0.0, (now - min(heads)).total_seconds()), 3) if heads else 0,
        **due.quick_counts(turn.using, now),
    }


def run_slowly(turn: Pass) -> None:
    """Counts that read the whole table of runs: once per slow pass."""
    turn.facts |= due.slow_counts(turn.using)
