"""Database: whether it answers, has our tables as this code wants them, and agrees on the time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from django.db import DatabaseError, connections
from django.db.migrations.loader import MigrationLoader

from lifecycle import clock
from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import ERROR, WARNING, Finding, several
from lifecycle.store import timing


def unreachable(examined: Examined) -> Iterator[Finding]:
    """The database does not answer."""
    try:
        with connections[examined.using].cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchall()
    except DatabaseError as error:
        yield examined.found(
            "database",
            ERROR,
            f"The database '{examined.using}' does not answer ({type(error).__name__}).",
            "Start it, or correct DATABASES. Nothing is lost: pending effects wait in their rows.",
        )


def pending_migrations(examined: Examined) -> Iterator[Finding]:
    """Migrations of the library that have not been applied to this database."""
    loader = MigrationLoader(connections[examined.using])
    ours = [key for key in loader.graph.nodes if key[0] == "lifecycle"]
    pending = sorted(name for app, name in ours if (app, name) not in loader.applied_migrations)
    if pending:
        yield examined.found(
            "migrations",
            ERROR,
            f"{several(len(pending), 'migration', 'migrations')} of 'lifecycle' "
            f"{'is' if len(pending) == 1 else 'are'} not applied.",
            f"manage.py migrate lifecycle --database {examined.using}",
            count=len(pending),
            examples=tuple(pending[: examined.limits.examples]),
        )


def clock_skew(examined: Examined) -> Iterator[Finding]:
    """The clocks of the application and of the database differ.

    Leases, due times and history use the database's clock alone, so nothing breaks; but what the application compares
    with them (a preview, a guard that asks the time by itself, a page) is wrong by as much.
    """
    before = clock.now()
    theirs = timing.now(examined.using)
    apart = _apart(theirs, before, clock.now())
    if apart > examined.limits.skew:
        ahead = "ahead of" if theirs > before else "behind"
        yield examined.found(
            "clock_skew",
            WARNING,
            f"The clock of the database '{examined.using}' is {apart.total_seconds():.1f} s {ahead} this machine's.",
            "Let both machines follow one time server (chrony, systemd-timesyncd).",
        )


def _apart(theirs: dt.datetime, before: dt.datetime, after: dt.datetime) -> dt.timedelta:
    """How far the clocks are apart at least: the answer was read some time between ``before`` and ``after``."""
    return max(before - theirs, theirs - after, dt.timedelta(0))
