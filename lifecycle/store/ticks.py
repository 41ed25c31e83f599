"""Ticks: the gates — rows that let one caller per interval through — and what the last pass found."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.db import connections, models, transaction
from django.db.models import Q

from lifecycle import clock
from lifecycle.models import Tick
from lifecycle.store import timing

TABLE = Tick._meta.db_table
# So many intervals ahead is further than any caller sets a gate, also one whose clock was read a little earlier.
FAR = 2

# One statement that makes the row, or moves the gate when it is time, and says whether it did.
_TAKE = f"""
INSERT INTO {TABLE} (name, next_at, last_started_at, counts) VALUES (%s, {{then}}, {{now}}, '{{{{}}}}')
ON CONFLICT (name) DO UPDATE SET next_at = excluded.next_at, last_started_at = excluded.last_started_at
WHERE {TABLE}.next_at <= excluded.last_started_at OR {TABLE}.next_at > {{far}} OR %s
RETURNING name
"""  # noqa: S608 the table's name is ours


def take(name: str, every: dt.timedelta, using: str, *, force: bool = False) -> bool:
    """Takes the tick: moves the gate forward by one interval if it is time, and says whether this caller did.

    One statement, committed at once when the caller holds no transaction; so nobody waits for the work that follows and
    a caller that dies with it blocks nobody. A gate further away than an interval leads was set by a clock that was
    wrong, or comes from a restored copy, and holds nobody. ``force`` takes it whatever the time.
    """
    connection = connections[using]
    if connection.vendor not in ("postgresql", "sqlite"):
        return _take_in_steps(name, every, using, force)
    moment = clock.overridden()
    times: list[Any]
    far: Any
    if connection.vendor == "postgresql" and moment is None:
        now, then, times, far = "clock_timestamp()", "clock_timestamp() + %s", [every], FAR * every
    else:
        moment = moment or clock.now()
        adapt = connection.ops.adapt_datetimefield_value
        now, then, times, far = "%s", "%s", [adapt(moment + every), adapt(moment)], adapt(moment + FAR * every)
    with connection.cursor() as cursor:
        cursor.execute(_TAKE.format(now=now, then=then, far=then), [name, *times, far, force])
        return bool(cursor.fetchall())


def _take_in_steps(name: str, every: dt.timedelta, using: str, force: bool) -> bool:
    """The same where an upsert takes no condition: look and move, and make the row when it was not there."""
    now = timing.in_statement(using) or clock.now()
    gate = Tick.objects.using(using).filter(name=name)
    due = gate if force else gate.filter(Q(next_at__lte=now) | Q(next_at__gt=now + FAR * every))
    if due.update(next_at=now + every, last_started_at=now):
        return True
    if gate.exists():
        return False
    moment = timing.now(using)
    with transaction.atomic(using=using):
        made = Tick.objects.using(using).bulk_create(
            [Tick(name=name, next_at=moment, last_started_at=None)], ignore_conflicts=True
        )
    return bool(made) and bool(gate.filter(next_at__lte=moment).update(next_at=moment + every, last_started_at=moment))


def finish(name: str, counts: Mapping[str, Any], using: str, *, more: bool = False) -> None:
    """Notes the end of a pass and what it counted; with ``more`` to do, the next caller gets through at once."""
    now: Any = timing.in_statement(using) or clock.now()
    found = {"last_finished_at": now, "counts": dict(counts)}
    Tick.objects.using(using).filter(name=name).update(**found, **({"next_at": now} if more else {}))


def note(name: str, next_at: dt.datetime, counts: Mapping[str, Any], using: str) -> None:
    """Notes what a part found and when it may go on; makes the row when there is none."""
    now: Any = timing.in_statement(using) or clock.now()
    found = {"next_at": next_at, "last_finished_at": now, "counts": dict(counts)}
    if not Tick.objects.using(using).filter(name=name).update(**found):
        row = Tick(name=name, next_at=next_at, last_finished_at=timing.now(using), counts=dict(counts))
        Tick.objects.using(using).bulk_create([row], ignore_conflicts=True)


def read(name: str, using: str) -> Tick | None:
    """The gate's row, or None when nobody has ever ticked here."""
    found: models.QuerySet[Tick] = Tick.objects.using(using).filter(name=name)
    return found.first()
