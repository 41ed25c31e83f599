"""Batches: many records through one transition, each decided on its own, written together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from django.db import DatabaseError, IntegrityError, connections
from django.db.models import QuerySet

from lifecycle import registry, tracing
from lifecycle.actors import SYSTEM
from lifecycle.definition.compiled import Definition
from lifecycle.definition.contexts import Record, TransitionContext
from lifecycle.definition.transitions import Transition
from lifecycle.dispatch import after_commit
from lifecycle.exceptions import Conflict, LifecycleError, Refused
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime.deciding import expectations, orders, requests, sentences, together
from lifecycle.runtime.deciding.orders import FiringOrder
from lifecycle.runtime.results import BatchRefusal, BatchReport, Fired
from lifecycle.runtime.verbs.subjects import Part, Subjects, chunks
from lifecycle.runtime.writing import announcements, frames, retrying, rows, steps
from lifecycle.store import enqueueing, history, lives, moving, records, transactions
from lifecycle.store.record_keys import RecordKey

BATCH_SIZE = 200


def fire_many(
    subjects: Subjects[Record],
    transition: Transition | str,
    *,
    actor: Any,
    input: Mapping[str, Any] | None = None,
    manual: bool = False,
    reason: str = "",
    request_id: Callable[[Any], str] | None = None,
    batch_size: int = BATCH_SIZE,
    lifecycle: Any = None,
) -> BatchReport[Record]:
    """Fires one transition on many records; one bad record does not stop the others.

    Each batch locks its rows in the order of their keys, asks every guard of every record, and writes with one UPDATE
    and two INSERTs. Records whose states or transition have hooks are fired one by one inside the batch's transaction.
    Each batch commits by itself, unless the caller holds a transaction.

    Args:
        subjects: a queryset (a slice as well), on its own database; or instances, each on its own: they are brought up
            to date, and one with unsaved edits is refused.
        request_id: makes a key for each record's id, so that a repeated batch does nothing twice.
        batch_size: rows locked at once.

    Returns:
        A `BatchReport`: what fired, and per refused record the error with all its reasons.

    Raises:
        UnknownTransition, TypeError, InvalidInput: the call itself is wrong; nothing was fired.
    """
    parts = [Part.of_queryset(subjects)] if isinstance(subjects, QuerySet) else Part.of_instances(subjects)
    report = BatchReport()
    if not parts:
        return report
    definition = registry.of(lifecycle if lifecycle is not None else parts[0].model)
    keyed = request_id is not None
    order = orders.take(definition, transition, actor=actor, input=input, manual=manual, reason=reason, keyed=keyed)
    for part in parts:
        for pks in chunks(part.pks, batch_size):
            keys = {pk: _own_key(request_id(pk)) for pk in pks} if request_id is not None else None
            with tracing.transition(definition.name, order.transition.name, ""):
                _fire_batch(order, pks, part.using, report, keys=keys, skip_locked=False, instances=part.instances)
    for refusal in report.refused:
        if isinstance(refusal.error, Refused):
            announcements.refused(definition, order.transition, refusal.record_id, order.actor, refusal.error)
    return report


def fire_due(
    definition: Definition,
    pks: Sequence[Any],
    transition: str,
    *,
    using: str,
    expect_changed_before: dt.datetime | None = None,
    reason: str = "",
    request_ids: Mapping[Any, str] | None = None,
) -> BatchReport:
    """Fires what time made due, as the system: rows that others hold or that are no longer due are passed over.

    Being due is asked again under the lock: the state must be one the transition starts in, and the stay must have
    begun before ``expect_changed_before``.
    """
    order = orders.take(
        definition, transition, actor=SYSTEM, expect_changed_before=expect_changed_before, reason=reason
    )
    report = BatchReport()
    _fire_batch(order, pks, using, report, keys=request_ids, skip_locked=True)
    return report


def _fire_batch(
    order: FiringOrder,
    pks: Sequence[Any],
    using: str,
    report: BatchReport,
    *,
    keys: Mapping[Any, str] | None,
    skip_locked: bool,
    instances: Mapping[Any, list[Any]] = MappingProxyType({}),
) -> None:
    edits = {pk: expectations.edits_of_all(order.definition, instances[pk]) for pk in pks if pk in instances}

    def work() -> BatchReport:
        return _in_transaction(order, pks, using, keys=keys, skip_locked=skip_locked, edits=edits)

    def settle(part: BatchReport) -> None:
        report.fired.extend(part.fired)
        report.refused.extend(part.refused)
        for fired in part.fired:
            for instance in instances.get(fired.record.pk, ()):
                moving.align(order.definition, instance, fired.record)

    lost = Conflict(
        sentences.others_at_each_try(len(pks)),
        lifecycle=order.definition.name,
        transition=order.transition.name,
    )
    try:
        retrying.in_own_transaction(work, using, settle=settle, lost=None if skip_locked else lambda: lost)
    except Conflict as error:
        if error is not lost:  # out of a callback after the commit
            raise
        report.refused.extend(_refusal(pk, error) for pk in pks)


def _in_transaction(
    order: FiringOrder,
    pks: Sequence[Any],
    using: str,
    *,
    keys: Mapping[Any, str] | None,
    skip_locked: bool,
    edits: Mapping[Any, expectations.Edits],
) -> BatchReport:
    """Together where that works; where one row prevents it, that row must not take the others with it: one by one.

    A row may be what its driver cannot read, its guard may meet an error of the database, its values may be refused.
    """
    try:
        with transactions.atomic(using):
            return _together(order, pks, using, keys=keys, skip_locked=skip_locked, edits=edits)
    except Exception as error:
        if retrying.lost_a_race(error) or not connections[using].is_usable():
            raise
    report = BatchReport()
    _one_by_one(order, pks, using, keys, report, skip_locked=skip_locked, edits=edits)
    return report


def _together(
    order: FiringOrder,
    pks: Sequence[Any],
    using: str,
    *,
    keys: Mapping[Any, str] | None,
    skip_locked: bool,
    edits: Mapping[Any, expectations.Edits],
) -> BatchReport:
    locked, now = records.lock_many(order.definition, pks, using, skip_locked=skip_locked)
    if skip_locked:
        locked = [record for record in locked if together.is_still_due(order, record)]
    report = BatchReport()
    if not skip_locked:
        there = {record.pk for record in locked}
        missing = [pk for pk in pks if pk not in there]
        report.refused.extend(_refusal(pk, records.not_found(order.definition, pk)) for pk in missing)
        locked = list(_without_edits(order, locked, edits, report))
    if keys is not None or together.has_hooks(order):
        _one_by_one(order, [record.pk for record in locked], using, keys, report)
        return report
    alone = {*lives.begun_before(order.definition, locked, using), *together.leaving_by_hooks(order, locked)}
    if alone:
        _one_by_one(order, [record.pk for record in locked if record.pk in alone], using, None, report)
        locked = [record for record in locked if record.pk not in alone]
    decided = list(_decided(order, locked, now, using, report))
    hooked = [ctx.record.pk for ctx, _, target in decided if order.definition.enter_hooks.get(target)]
    if hooked:
        _one_by_one(order, hooked, using, None, report)
        decided = [one for one in decided if not order.definition.enter_hooks.get(one[2])]
    if decided:
        report.fired.extend(_write(order, decided, now, using))
    if alone or hooked:
        place = {pk: position for position, pk in enumerate(pks)}
        report.fired.sort(key=lambda fired: place.get(fired.record.pk, len(place)))
    return report


def _decided(
    order: FiringOrder, locked: Sequence[Any], now: dt.datetime, using: str, report: BatchReport
) -> Iterator[tuple[TransitionContext[Any], dict[str, Any], str]]:
    for record in locked:
        try:
            key = RecordKey.of(order.definition, record, using)
            ctx = steps.context(order, record, now, key)
            if steps.is_already_there(order, ctx):
                entry = history.latest(key)
                report.fired.append(Fired(record=record, entry=entry, replayed=True))
                continue
            ctx, accepted = steps.decide(order, ctx)
            target = rows.route(order.definition, order.transition, ctx)
            ctx = replace(ctx, target=target)
            changes = rows.changes(order.definition, order.transition, ctx, accepted)
        except DatabaseError:
            raise  # the transaction is no longer usable
        except Exception as error:  # noqa: BLE001 a guard or set that fails is this record's failure, not the batch's
            report.refused.append(_refusal(record.pk, error))
            continue
        yield ctx, changes, target


def _write(
    order: FiringOrder,
    decided: Sequence[tuple[TransitionContext[Any], dict[str, Any], str]],
    now: dt.datetime,
    using: str,
) -> list[Fired]:
    definition = order.definition
    moving.move_many(definition, [(ctx.record, changes, target) for ctx, changes, target in decided], now, using)
    entries = history.append_many(
        [steps.entry_of(order, ctx, records.version_of(definition, ctx.record)) for ctx, _, _ in decided], using
    )
    runs: dict[int, list[Run]] = {}
    everything: list[Run] = []
    for (ctx, _, _), entry in zip(decided, entries, strict=True):
        enqueued = rows.runs_to_enqueue(
            definition, entry, ctx, transition_effects=order.transition.effects, entering=True
        )
        runs[entry.pk] = enqueued
        everything += enqueued
    enqueueing.enqueue(everything, using)
    after_commit.wake(using, {run.queue for run in everything if run.available_at <= now})
    _announce(definition, [(ctx.record, entry) for (ctx, _, _), entry in zip(decided, entries, strict=True)], using)
    frames.moved(ctx.key for ctx, _, _ in decided)
    return [
        Fired(record=ctx.record, entry=entry, runs=tuple(runs[entry.pk]))
        for (ctx, _, _), entry in zip(decided, entries, strict=True)
    ]


def _announce(definition: Definition, pairs: Sequence[tuple[Any, TransitionLog]], using: str) -> None:
    for record, entry in pairs:
        announcements.register(definition, record, using).of(entry)


def _one_by_one(
    order: FiringOrder,
    pks: Sequence[Any],
    using: str,
    keys: Mapping[Any, str] | None,
    report: BatchReport,
    *,
    skip_locked: bool = False,
    edits: Mapping[Any, expectations.Edits] = MappingProxyType({}),
) -> None:
    for pk in pks:
        own = replace(order, request_id=keys[pk]) if keys is not None else order
        key = RecordKey.of(order.definition, pk, using)
        try:
            with transactions.atomic(using):
                if skip_locked:
                    locked, _ = records.lock_many(order.definition, [pk], using, skip_locked=True)
                    if not any(together.is_still_due(order, record) for record in locked):
                        continue
                fired = steps.fire_in_transaction(own, key, edits.get(pk, expectations.NO_EDITS))
            report.fired.append(fired)
        except DatabaseError as error:
            if retrying.lost_a_race(error) or not connections[using].is_usable():
                raise
            if isinstance(error, IntegrityError):
                report.refused.append(_refusal(pk, expectations.explained(order.definition, key) or error))
                continue
            report.refused.append(_refusal(pk, error))
        except Exception as error:  # noqa: BLE001 whatever one record's hooks do, the others go on
            report.refused.append(_refusal(pk, error))


def _without_edits(
    order: FiringOrder, locked: Sequence[Any], edits: Mapping[Any, expectations.Edits], report: BatchReport
) -> Iterator[Any]:
    for record in locked:
        try:
            expectations.refuse_edits(order.definition, record, edits.get(record.pk, expectations.NO_EDITS))
        except LifecycleError as error:
            report.refused.append(_refusal(record.pk, error))
        else:
            yield record


def _own_key(request_id: str) -> str:
    requests.check(request_id)
    return request_id


def _refusal(pk: Any, error: Exception) -> BatchRefusal:
    return BatchRefusal(record_id=str(pk), error=error)
