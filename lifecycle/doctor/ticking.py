"""Ticking: whether anybody makes the periodic pass, and whether it gets through."""

from __future__ import annotations

from collections.abc import Iterator

from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import ERROR, WARNING, Finding, several
from lifecycle.doctor.periods import spoken
from lifecycle.store import ticks
from lifecycle.sweeps.tick import MAIN

_REMEDY = (
    "Start a Celery worker (it ticks by itself unless LIFECYCLE['CELERY_TICK'] is off) or manage.py lifecycle_worker, "
    "or call manage.py lifecycle_tick from cron. Until then no timeout fires and no lost worker's run is taken back."
)


def no_tick(examined: Examined) -> Iterator[Finding]:
    """No worker ticks, so timeouts, lost workers and pending follow-ups are not looked after."""
    last = ticks.read(MAIN, examined.using)
    if last is None or last.last_finished_at is None:
        begun = "" if last is None else " to its end"
        yield examined.found("no_tick", ERROR, f"No tick has ever been made{begun} on '{examined.using}'.", _REMEDY)
        return
    age = examined.now - last.last_finished_at
    if age > examined.limits.tick:
        yield examined.found(
            "no_tick",
            ERROR,
            f"The last tick on '{examined.using}' ended {spoken(age)} ago.",
            _REMEDY,
        )


def failing_ticks(examined: Examined) -> Iterator[Finding]:
    """Ticks are made, but parts of them fail."""
    last = ticks.read(MAIN, examined.using)
    failures = int(last.counts.get("failures") or 0) if last is not None else 0
    if failures:
        yield examined.found(
            "failing_ticks",
            WARNING,
            f"The last tick on '{examined.using}' met {several(failures, 'failure', 'failures')}.",
            "manage.py lifecycle_tick --force names them; the log of the workers has their tracebacks.",
            count=failures,
        )
