"""Draining: what is due is done here and now, in the test's own process and connection."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

from django.db import router

from lifecycle import clock
from lifecycle.execution.drain import drain
from lifecycle.models import Run
from lifecycle.sweeps.tick import TickReport
from lifecycle.sweeps.tick import tick as sweep
from lifecycle.testing.travelling import travel

_ROUNDS = 1000
_QUEUED = "queued"


def run_due(queue: str | None = None, *, retries: bool = False, using: str | None = None) -> list[Run]:
    """Does every run that is due, and those they enqueue, as a worker would.

    Args:
        queue: only this queue; by default all of them.
        retries: also those that wait for their next attempt: the clock travels to each.
        using: the database; by default the one runs are written to.

    Returns:
        The runs that were started, in the order they were enqueued, as they are now.
    """
    alias = using or router.db_for_write(Run)
    before = dict(_starts(alias))
    for _ in range(_ROUNDS):
        done = sum(drain(name, using=alias, seconds=600, runs=100_000).done for name in _queues(queue, alias))
        if done == 0 and not (retries and _go_to_next_retry(queue, alias)):
            break
    else:
        raise AssertionError(
            f"run_due(): still not done after {_ROUNDS} rounds: effects that enqueue each other for ever?"
        )
    started = [pk for pk, starts in _starts(alias) if before.get(pk, (0, 0, 0)) != starts]
    return list(Run.objects.using(alias).filter(pk__in=started).order_by("id"))


def tick(*, using: str | None = None) -> TickReport:
    """Makes the periodic pass now, whatever its gate says: leases, timeouts, deadlines, reminders, follow-ups."""
    report: TickReport = sweep(using=using, force=True)
    return report


def _starts(alias: str) -> Iterable[tuple[int, tuple[Any, ...]]]:
    rows = Run.objects.using(alias).values_list("pk", "fence", "attempts", "status")
    return [(pk, tuple(rest)) for pk, *rest in rows]


def _queues(queue: str | None, alias: str) -> list[str]:
    if queue is not None:
        return [queue]
    rows = Run.objects.using(alias).filter(status=_QUEUED, available_at__lte=clock.now())
    return sorted(rows.order_by().values_list("queue", flat=True).distinct())


def _go_to_next_retry(queue: str | None, alias: str) -> bool:
    rows = Run.objects.using(alias).filter(status=_QUEUED, attempts__gt=0)
    if queue is not None:
        rows = rows.filter(queue=queue)
    next_at: dt.datetime | None = rows.order_by("available_at").values_list("available_at", flat=True).first()
    if next_at is None:
        return False
    travel(to=max(next_at, clock.now()), seconds=0.001)
    return True
