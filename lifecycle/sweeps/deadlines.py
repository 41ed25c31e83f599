"""Deadlines: records whose own date has come."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import transaction

from lifecycle import registry
from lifecycle.definition.compiled import CompiledDeadline, Definition
from lifecycle.models import due
from lifecycle.store import aliases, records, timing
from lifecycle.sweeps import triggers
from lifecycle.sweeps.passes import Pass
from lifecycle.sweeps.triggers import Due


def run_once(sweep: Pass) -> None:
    """Fires what is due of every deadline of every lifecycle on this database, in batches while time remains."""
    for definition in registry.all():
        if aliases.may_store(definition.model, sweep.using):
            for deadline in definition.deadlines.values():
                with sweep.contained(f"Deadline {definition.name}.{deadline.name}"):
                    _sweep(definition, deadline, sweep)


def _sweep(definition: Definition, deadline: CompiledDeadline, sweep: Pass) -> None:
    now = timing.now(sweep.using)
    for state in deadline.when:
        after = None
        while sweep.has_time():
            rows = due.deadlines(definition, deadline, state, now=now, using=sweep.using, after=after)
            found = _read(definition, deadline, rows[: deadline.batch_size], sweep)
            if not found:
                break
            with sweep.contained(f"A batch of deadline {definition.name}.{deadline.name}"):
                _fire_all(definition, deadline, state, found, now, sweep)
            if len(found) < deadline.batch_size:
                break
            after = (found[-1].position, found[-1].pk)


def _read(definition: Definition, deadline: CompiledDeadline, rows: Any, sweep: Pass) -> list[Due]:
    """The rows of a batch; where one holds a date that cannot be read, that one is held and the others go on."""
    try:
        with transaction.atomic(using=sweep.using):
            return [Due(pk=pk, version=version, position=at) for pk, version, at in rows]
    except triggers.UNREADABLE as error:
        triggers.refuse_unless_alive(error, sweep.using)
    found = []
    for pk, version in due.without_dates(definition, rows):
        try:
            with transaction.atomic(using=sweep.using):
                dates = due.dates_of(definition, deadline, pk, sweep.using)
                found += [Due(pk=pk, version=version, position=at) for at in dates]
        except triggers.UNREADABLE as error:
            triggers.hold(definition, deadline, Due(pk=pk, version=version, position=None), error, sweep)
    return found


def _fire_all(
    definition: Definition, deadline: CompiledDeadline, state: str, found: list[Due], now: dt.datetime, sweep: Pass
) -> None:
    """The whole batch, or, where one row prevents that, one after the other; what fails alone is held."""
    try:
        _fire(definition, deadline, state, found, now, sweep)
    except triggers.UNREADABLE as error:
        triggers.refuse_unless_alive(error, sweep.using)
    else:
        return
    for one in found:
        try:
            _fire(definition, deadline, state, [one], now, sweep)
        except triggers.UNREADABLE as error:
            triggers.hold(definition, deadline, one, error, sweep)


def _fire(
    definition: Definition,
    deadline: CompiledDeadline,
    state: str,
    found: list[Due],
    now: dt.datetime,
    sweep: Pass,
) -> None:
    """Asks again under the lock: unlike a stay's beginning, the date is the user's column and may just have moved."""
    with transaction.atomic(using=sweep.using):
        locked, _ = records.lock_many(definition, [one.pk for one in found], sweep.using, skip_locked=True)
        rows = due.deadlines(definition, deadline, state, now=now, using=sweep.using)
        rows = rows.filter(pk__in=[record.pk for record in locked])
        still = [Due(pk=pk, version=version, position=at) for pk, version, at in rows]
        if still:
            triggers.fire(
                definition,
                deadline,
                still,
                sweep,
                reason=f"deadline {deadline.name}",
                request_ids={one.pk: request_id(deadline, one.position) for one in still},
            )


def request_id(deadline: CompiledDeadline, date: Any) -> str:
    """The key under which a deadline fires once per value of its date, wherever the record has been between."""
    if isinstance(date, dt.datetime) and date.tzinfo is not None:
        date = date.astimezone(dt.UTC)
    return f"$deadline:{deadline.name}:{date.isoformat()}"
