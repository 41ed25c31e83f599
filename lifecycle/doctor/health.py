"""Health: how one database's engine is doing, in a few numbers that cost little to read."""

from __future__ import annotations

from dataclasses import dataclass

from lifecycle.models import due
from lifecycle.store import ticks, timing
from lifecycle.sweeps.tick import MAIN, SLOW


@dataclass(frozen=True, kw_only=True)
class Health:
    """The numbers. Counts stop at 10 000: "at least so many" says as much.

    Attributes:
        due: runs that could start now.
        oldest_due_seconds: for how long the oldest of them has been due; 0 without one.
        running: runs in a worker's hands.
        lease_expired: those whose worker is gone.
        follow_ups_pending: outcomes whose transition waits.
        held: due timeouts and deadlines that are refused.
        dead, failed, follow_ups_abandoned: as the last slow pass of the tick counted them (every ten minutes: they need
            the whole table); None before the first one.
        tick_age_seconds: since the end of the last tick; None when there never was one.
        tick_failures: what went wrong in it.
    """

    due: int
    oldest_due_seconds: float
    running: int
    lease_expired: int
    follow_ups_pending: int
    held: int
    dead: int | None
    failed: int | None
    follow_ups_abandoned: int | None
    tick_age_seconds: float | None
    tick_failures: int


def read(using: str) -> Health:
    """The numbers of one database as they are now: small indexes and two rows."""
    now = timing.now(using)
    heads = [at for _, at in due.queue_heads(using) if at <= now]
    counts = due.quick_counts(using, now)
    last, slow = ticks.read(MAIN, using), ticks.read(SLOW, using)
    seen = slow.counts if slow is not None else {}
    ended = last.last_finished_at if last is not None else None
    return Health(
        due=counts["due"],
        oldest_due_seconds=max(0.0, (now - min(heads)).total_seconds()) if heads else 0.0,
        running=counts["running"],
        lease_expired=counts["lease_expired"],
        follow_ups_pending=counts["follow_ups_pending"],
        held=counts["held"],
        dead=seen.get("dead"),
        failed=seen.get("failed"),
        follow_ups_abandoned=seen.get("follow_ups_abandoned"),
        tick_age_seconds=(now - ended).total_seconds() if ended is not None else None,
        tick_failures=int(last.counts.get("failures") or 0) if last is not None else 0,
    )
