"""Examination: every fault looked for, on every database, none of them stopping the next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext

from django.db import connections, router, transaction

from lifecycle import registry
from lifecycle.definition.compiled import Definition
from lifecycle.doctor import broker, database, guard, indexes, parameters, records, ticking, ways_on, work
from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import ERROR, Finding
from lifecycle.doctor.limits import Limits
from lifecycle.models import Run
from lifecycle.store import aliases

Fault = Callable[[Examined], Iterator[Finding]]

# In the order in which they are looked for.
FAULTS: dict[str, Fault] = {
    "database": database.unreachable,
    "migrations": database.pending_migrations,
    "missing_indexes": indexes.missing,
    "missing_triggers": guard.missing_triggers,
    "unguarded_columns": guard.unguarded_columns,
    "clock_skew": database.clock_skew,
    "no_tick": ticking.no_tick,
    "failing_ticks": ticking.failing_ticks,
    "overdue_runs": work.overdue_runs,
    "expired_leases": work.expired_leases,
    "dead_runs": work.dead_runs,
    "unknown_effects": work.unknown_effects,
    "abandoned_follow_ups": work.abandoned_follow_ups,
    "blocked_follow_ups": work.blocked_follow_ups,
    "stranded": ways_on.stranded,
    "unknown_states": records.strange_states,
    "deprecated_states": records.deprecated_states,
    "drift": records.drifted,
    "unbegun": records.unbegun,
    "unfit_parameters": parameters.unfit,
    "broker": broker.unreachable,
}

# Without these nothing else can be asked of a database.
FOUNDATIONS = ("database", "migrations")
# There is one broker, however many databases there are.
ONCE = ("broker",)


def known_faults() -> dict[str, str]:
    """Each fault's name with what it means."""
    return {name: str(fault.__doc__).partition("\n\n")[0].strip() for name, fault in FAULTS.items()}


def databases() -> list[str]:
    """Where to look: every database that holds our tables, and the one that ought to."""
    return list(dict.fromkeys([router.db_for_write(Run), *aliases.with_our_tables()]))


def examine(
    *,
    using: Collection[str] | None = None,
    lifecycles: Sequence[Definition] | None = None,
    only: Collection[str] | None = None,
    skip: Collection[str] = (),
    limits: Limits | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> list[Finding]:
    """Looks for faults; reads only.

    Args:
        using: these databases; None: all that hold our tables.
        lifecycles: what is about records and runs is asked of these alone; None: of all.
        only: the names of the faults to look for; None: all.
        skip: those not to look for.
        limits: from when on something counts as late.
        say: told what is being done, for people who wait.

    Returns:
        The findings in the order they were made; an empty list is good news.
    """
    wanted = [name for name in FAULTS if (only is None or name in only) and name not in skip]
    bounds = limits or Limits()
    found: list[Finding] = []
    for alias in using if using is not None else databases():
        examined = Examined(
            using=alias,
            definitions=_on(alias, registry.all() if lifecycles is None else lifecycles),
            only=None if lifecycles is None else frozenset(one.name for one in lifecycles),
            limits=bounds,
            say=say,
        )
        found += _examine(examined, [name for name in wanted if name not in ONCE])
    for name in wanted:
        if name in ONCE:
            found += list(FAULTS[name](Examined(using="", definitions=(), only=None, limits=bounds, say=say)))
    return found


def _examine(examined: Examined, wanted: Sequence[str]) -> Iterator[Finding]:
    for name in wanted:
        examined.say(f"{examined.using}: looking for {name.replace('_', ' ')}")
        found = list(_looked_for(name, examined))
        yield from found
        if name in FOUNDATIONS and any(one.severity == ERROR for one in found):
            return


def _looked_for(name: str, examined: Examined) -> Iterator[Finding]:
    """One fault's findings; one that cannot be looked for is a finding of its own."""
    nested = connections[examined.using].in_atomic_block
    try:
        with transaction.atomic(using=examined.using) if nested else nullcontext():
            yield from list(FAULTS[name](examined))
    except Exception as error:  # noqa: BLE001 a missing table, a lost connection: the other faults are looked for
        yield examined.found(
            name,
            ERROR,
            f"'{name}' could not be looked for: {type(error).__name__}: {str(error).strip():.300}",
            "Correct what the error says (often a migration that is not applied), then look again.",
        )


def _on(using: str, definitions: Sequence[Definition]) -> list[Definition]:
    return [one for one in definitions if one.model is not None and aliases.may_store(one.model, using)]
