"""Firing: one record, one transition, one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db import IntegrityError, router

from lifecycle import registry, tracing
from lifecycle.actors import SYSTEM
from lifecycle.definition.compiled import Definition
from lifecycle.definition.contexts import Record
from lifecycle.definition.transitions import Transition
from lifecycle.exceptions import (
    Refused,
)
from lifecycle.runtime.deciding import expectations, orders
from lifecycle.runtime.deciding.orders import FiringOrder
from lifecycle.runtime.results import Fired
from lifecycle.runtime.writing import announcements, retrying, steps
from lifecycle.store import moving, records, transactions
from lifecycle.store.record_keys import RecordKey


def fire(
    record: Record,
    transition: Transition | str,
    *,
    actor: Any,
    input: Mapping[str, Any] | None = None,
    request_id: str | None = None,
    expect_version: int | None = None,
    expect_changed_before: dt.datetime | None = None,
    manual: bool = False,
    reason: str = "",
    lifecycle: Any = None,
) -> Fired[Record]:
    """Moves a record: status, history and pending effects in one transaction.

    The row is locked and read again, so a stale instance does no harm. On success the instance shows the row; on
    failure it is as it was. Guards, sets and hooks may run twice when the database resolves a deadlock: they touch
    nothing but this database (calls to the outside are effects).

    Args:
        record: a saved instance without unsaved edits.
        transition: a name, or the `Transition` object.
        actor: a user (whose permissions are checked), ``SYSTEM``, or ``Actor("name")``. Required.
        input: data that fits into JSON. The transition's form and accepted fields clean it.
        request_id: a key that makes a repeat harmless. A repeated call gets the first answer (``replayed``).
        expect_version: the version on which the decision was based. If the record has another one: `Conflict`.
        expect_changed_before: if the record's stay did not begin before this time: `Conflict`.
        manual: True in code that acts for people. Refuses system transitions and unknown input keys.
        reason: kept in the history, at most 500 characters.
        lifecycle: which one, if the model has several.

    Raises:
        UnknownTransition, RecordNotFound, InvalidInput, RequestReused, UnsavedEdits: the call does not fit.
        PermissionRefused, WrongState, GuardRefused: the answer is no; ``refusals`` has all reasons.
        Conflict: somebody else was faster.
    """
    definition = registry.of(lifecycle if lifecycle is not None else record)
    key = RecordKey.of(definition, records.key_of(record), write_alias(record))
    try:
        order = orders.take(
            definition,
            transition,
            actor=actor,
            input=input,
            request_id=request_id,
            expect_version=expect_version,
            expect_changed_before=expect_changed_before,
            manual=manual,
            reason=reason,
        )
        edits = expectations.edits_of(definition, record)
        fired = _fire(order, key, record, edits)
    except Refused as error:
        announcements.refused(definition, transition, key.record_id, actor, error)
        raise
    return replace(fired, record=record)


def _fire(order: FiringOrder, key: RecordKey, record: Any, edits: expectations.Edits) -> Fired:
    def work() -> Fired:
        return steps.fire_in_transaction(order, key, edits)

    def settle(fired: Fired) -> None:
        moving.align(order.definition, record, fired.record)

    with tracing.transition(order.definition.name, order.transition.name, key.record_id):
        try:
            return retrying.in_own_transaction(
                work, key.using, settle=settle, lost=lambda: records.conflict(order.definition, record)
            )
        except IntegrityError as error:
            explained = expectations.explained(order.definition, key)
            if explained is None:
                raise
            raise explained from error


def fire_automatically(
    definition: Definition,
    record_id: str,
    transition: str,
    *,
    using: str,
    input: Mapping[str, Any] | None = None,
    request_id: str,
    stay_version: int | None = None,
    reason: str = "",
) -> Fired:
    """Fires what nobody asked for at this moment — a follow-up, a deadline — under one of its own request ids.

    Opens a savepoint when a transaction is open. Errors about this transition itself carry ``lifecycle``,
    ``record_id`` and ``transition`` as given; any other error came from nested work.

    Raises:
        StayEnded: the record has moved on since ``stay_version``.
        And what `fire` raises.
    """
    order = orders.take(
        definition,
        transition,
        actor=SYSTEM,
        input=input,
        request_id=request_id,
        stay_version=stay_version,
        reason=reason,
        reserved=True,
        follows_run=True,
    )
    key = RecordKey.of(definition, records.parse_id(definition, record_id), using)
    with transactions.atomic(using):
        return steps.fire_in_transaction(order, key)


def write_alias(record: Any) -> str:
    """The database a record is written to."""
    return str(router.db_for_write(type(record), instance=record))
