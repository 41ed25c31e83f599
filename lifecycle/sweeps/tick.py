"""Tick: the periodic pass over everything that time or an accident left undone, whoever calls it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lifecycle import clock, conf
from lifecycle.execution import isolation
from lifecycle.store import aliases, ticks
from lifecycle.sweeps import (
    deadlines,
    ended_holds,
    expired_leases,
    follow_ups,
    gauges,
    retention,
    timeouts,
    unserved_queues,
)
from lifecycle.sweeps.passes import Pass

log = logging.getLogger("lifecycle.sweeps")

MAIN = "main"
SLOW = "slow"

# In the order of urgency. Reminders are runs with a time of their own: the claim finds them, no sweep has to.
PARTS: dict[str, Callable[[Pass], None]] = {
    "expired_leases": expired_leases.run_once,
    "timeouts": timeouts.run_once,
    "deadlines": deadlines.run_once,
    "ended_holds": ended_holds.run_once,
    "follow_ups": follow_ups.run_once,
    "unserved_queues": unserved_queues.run_once,
}


@dataclass(frozen=True, kw_only=True)
class PartReport:
    """What one sweep did on one database."""

    name: str
    done: int = 0
    more: bool = False
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AliasReport:
    """What a tick did on one database; ``ran`` is False when it was not time yet, or another process was first."""

    using: str
    ran: bool
    parts: tuple[PartReport, ...] = ()

    @property
    def more(self) -> bool:
        """Whether a sweep of this database stopped with work in sight."""
        return any(part.more for part in self.parts)

    @property
    def counts(self) -> dict[str, Any]:
        """The parts as the tick's row stores them."""
        counts: dict[str, Any] = {part.name: part.done for part in self.parts}
        for part in self.parts:
            counts |= part.facts
        counts["failures"] = sum(len(part.failures) for part in self.parts)
        counts["more"] = [part.name for part in self.parts if part.more]
        return counts


@dataclass(frozen=True, kw_only=True)
class TickReport:
    """What a tick did, database by database."""

    aliases: tuple[AliasReport, ...]

    @property
    def ran(self) -> bool:
        """Whether it ran on any database."""
        return any(alias.ran for alias in self.aliases)

    @property
    def more(self) -> bool:
        """Whether a sweep stopped with work in sight."""
        return any(alias.more for alias in self.aliases)

    @property
    def failures(self) -> list[str]:
        """What went wrong; none of it stopped the rest."""
        return [failure for alias in self.aliases for part in alias.parts for failure in part.failures]

    def done(self, part: str) -> int:
        """How much one part did, over all databases."""
        return sum(one.done for alias in self.aliases for one in alias.parts if one.name == part)


def tick(*, using: str | None = None, force: bool = False) -> TickReport:
    """Does the periodic pass on every database that holds our tables, where it is time for it.

    Any number of callers may call at any time: per database and interval one gets through, the others pay one
    statement. Nothing is remembered between passes but the rows. One part's failure never stops the next.

    Args:
        using: only this database.
        force: do the pass now, whether or not it is time.
    """
    return TickReport(aliases=tuple(_tick(alias, force) for alias in ([using] if using else aliases.with_our_tables())))


def _tick(using: str, force: bool) -> AliasReport:
    gate = Pass(using=using)
    taken = False
    with gate.contained("The tick's gate"):
        taken = ticks.take(MAIN, conf.options().tick_every, using, force=force)
    if not taken:
        failed = (_report("gate", gate, 0.0),) if gate.failures else ()
        return AliasReport(using=using, ran=False, parts=failed)
    parts = [_run(name, part, using) for name, part in PARTS.items()]
    parts += _slowly(using)
    parts.append(_run("gauges", gauges.run_once, using))
    report = AliasReport(using=using, ran=True, parts=tuple(parts))
    with gate.contained("The tick's end"):
        ticks.finish(MAIN, report.counts, using, more=report.more)
    return report


def _slowly(using: str) -> list[PartReport]:
    """The parts that cost more than they are urgent, behind a gate of their own."""
    gate = Pass(using=using)
    parts: list[PartReport] = []
    with gate.contained("The slow parts"):
        if not ticks.take(SLOW, retention.EVERY, using):
            return parts
        before = ticks.read(SLOW, using)
        after_id = int(before.counts.get("after_id") or 0) if before is not None else 0
        parts = [
            _run("retention", lambda sweep: retention.run_once(sweep, after_id=after_id), using),
            _run("all_ended_holds", lambda sweep: ended_holds.run_once(sweep, everything=True), using),
            _run("slow_gauges", gauges.run_slowly, using),
        ]
        report = AliasReport(using=using, ran=True, parts=tuple(parts))
        ticks.finish(SLOW, report.counts, using, more=report.more)
    return parts


def _run(name: str, part: Callable[[Pass], None], using: str) -> PartReport:
    started = clock.monotonic()
    sweep = Pass(using=using)
    with sweep.contained(f"The sweep of {name.replace('_', ' ')}"), isolation.worker():
        part(sweep)
    return _report(name, sweep, clock.monotonic() - started)


def _report(name: str, sweep: Pass, seconds: float) -> PartReport:
    return PartReport(
        name=name,
        done=sweep.done,
        more=sweep.more,
        seconds=round(seconds, 4),
        failures=tuple(sweep.failures),
        facts=sweep.facts,
    )


# Between two runs of a drain --------------------------------------------------------------------

_next_try = [0.0]


def maybe_tick() -> None:
    """Ticks when this process has not tried for an interval; otherwise costs a look at the clock. Never raises.

    Called between runs: a worker with more work than it can do would otherwise not come to its own tick's message.
    """
    now = clock.monotonic()
    if now < _next_try[0]:
        return
    _next_try[0] = now + conf.options().tick_every.total_seconds()
    try:
        if tick().more:
            _next_try[0] = now
    except Exception:
        log.exception("The tick between two runs failed; the next one tries again.")
