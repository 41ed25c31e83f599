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


def run_once(turn: Pass) -> None:
    """Fires what is due of every deadline of every lifecycle on this database, in batches while time remains."""
    for definition in registry.all():
        if aliases.may_store(definition.model, turn.using):
            for deadline in definition.deadlines.values():
                with turn.contained(f"Deadline {definition.name}.{deadline.name}"):
                    _sweep(definition, deadline, turn)


def _sweep(definition: Definition, deadline: CompiledDeadline, turn: Pass) -> None:
    now = timing.now(turn.using)
    for state in deadline.when:
        after = None
        while turn.has_time():
            rows = due.deadlines(definition, deadline, state, now=now, using=turn.using, after=after)
            found = _read(definition, deadline, rows[: deadline.batch_size], turn)
            if not found:
                break
            with turn.contained(f"A batch of deadline {definition.name}.{deadline.name}"):
                _fire_all(definition, deadline, state, found, now, turn)
            if len(found) < deadline.batch_size:
                break
            after = (found[-1].position, found[-1].pk)


def _read(definition: Definition, deadline: CompiledDeadline, rows: Any, turn: Pass) -> list[Due]:
    """The rows of a batch; where one holds a date that cannot be read, that one is held and the others go on."""
    try:
        with transaction.atomic(using=turn.using):
            return [Due(pk=pk, version=version, position=at) for pk, version, at in rows]
    except triggers.UNREADABLE as error:
        triggers.refuse_unless_alive(error, turn.using)
    found = []
    for pk, version in due.without_dates(definition, rows):
        try:
            with transaction.atomic(using=turn.using):
                dates = due.dates_of(definition, deadline, pk, turn.using)
                found += [Due(pk=pk, version=version, position=at) for at in dates]
        except triggers.UNREADABLE as error:
            triggers.hold(definition, deadline, Due(pk=pk, version=version, position=None), error, turn)
    return found


def _fire_all(
    definition: Definition, deadline: CompiledDeadline, state: str, found: list[Due], now: dt.datetime, turn: Pass
) -> None:
    """The whole batch, or, where one row prevents that, one after the other; what fails alone is held."""
    try:
        _fire(definition, deadline, state, found, now, turn)
    except triggers.UNREADABLE as error:
        triggers.refuse_unless_alive(error, turn.using)
    else:
        return
    for one in found:
        try:
            _fire(definition, deadline, state, [one], now, turn)
        except triggers.UNREADABLE as error:
            triggers.hold(definition, deadline, one, error, turn)


def _fire(
    definition: Definition,
    deadline: CompiledDeadline,
    state: str,
    found: list[Due],
    now: dt.datetime,
    turn: Pass,
) -> None:
    """Asks again under the lock: unlike a stay's beginning, the date is the user's column and may just have moved."""
    with transaction.atomic(using=turn.using):
        locked, _ = records.lock_many(definition, [one.pk for one in found], turn.using, skip_locked=True)
        rows = due.deadlines(definition, deadline, state, now=now, using=turn.using)
        rows = rows.filter(pk__in=[record.pk for record in locked])
        still = [Due(pk=pk, version=version, position=at) for pk, version, at in rows]
        if still:
            triggers.fire(
                definition,
                deadline,
                still,
                turn,
                reason=f"deadline {deadline.name}",
                request_ids={one.pk: request_id(deadline, one.position) for one in still},
            )


def request_id(deadline: CompiledDeadline, date: Any) -> str:
    """The key under which a deadline fires once per value of its date, wherever the record has been between."""
    if isinstance(date, dt.datetime) and date.tzinfo is not None:
        date = date.astimezone(dt.UTC)
    return f"$deadline:{deadline.name}:{date.isoformat()}"
