"""Gauges: how much is due, under way and stuck; stored on the tick's row for pages and collectors to read."""

from __future__ import annotations

from lifecycle.models import due
from lifecycle.store import timing
from lifecycle.sweeps.passes import Pass


def run_once(sweep: Pass) -> None:
    """Counts what the small indexes can answer; each count stops at a limit: a backlog must not slow its own cure."""
    now = timing.now(sweep.using)
    heads = [at for _, at in due.queue_heads(sweep.using) if at <= now]
    sweep.facts |= {
        "oldest_due_seconds": round(max(0.0, (now - min(heads)).total_seconds()), 3) if heads else 0,
        **due.quick_counts(sweep.using, now),
    }


def run_slowly(sweep: Pass) -> None:
    """Counts that read the whole table of runs: once per slow pass."""
    sweep.facts |= due.slow_counts(sweep.using)
