"""Creation: the first entry of a record's life."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from django.db import DatabaseError, IntegrityError, router

from lifecycle import registry
from lifecycle.actors import Actor, as_actor
from lifecycle.definition.compiled import Definition
from lifecycle.definition.contexts import TransitionContext
from lifecycle.exceptions import Conflict, Refused, RequestReused
from lifecycle.models import CREATE, TransitionLog
from lifecycle.runtime.deciding import evaluator, new_records, orders, requests, sentences
from lifecycle.runtime.results import Fired
from lifecycle.runtime.writing import announcements, frames, retrying, rows, steps
from lifecycle.store import given, history, lives, moving, parameters, records, timing
from lifecycle.store.record_keys import RecordKey

Record = TypeVar("Record")


def create(
    record: Record,
    *,
    actor: Any,
    input: Mapping[str, Any] | None = None,
    request_id: str | None = None,
    reason: str = "",
    lifecycle: Any = None,
    using: str | None = None,
    exclude: Collection[str] = (),
) -> Record:
    """Begins a record's life: inserts it in an initial state, at version 1, with its entry and what that enqueues.

    The record is validated first (``full_clean``); all problems are reported at once and nothing is written.

    Args:
        record: an unsaved instance in one of the initial states (by default in the first).
        actor: a user, ``SYSTEM`` or ``Actor("name")``. Required.
        input: data for the entry and for hooks, which must fit into JSON.
        request_id: a key that makes a repeat harmless. A repeated call returns the record that the first one created.
        reason: kept in the history.
        lifecycle: which one, if the model has several.
        using: the database (default: where the router sends the record).
        exclude: fields that are not validated, because the model's own ``save()`` fills them (see ``full_clean``).

    Returns:
        The record: the instance given, saved — or, on a repeat, the one that exists.

    Raises:
        InvalidInput: the record does not validate; ``problems`` has every field.
        NotAnInitialState: no record begins in the state it names.
        GuardRefused, PermissionRefused: a guard on creation said no.
        RequestReused: the request id was spent on another creation.
    """
    answer: Record = begin(
        record,
        actor=actor,
        input=input,
        request_id=request_id,
        reason=reason,
        lifecycle=lifecycle,
        using=using,
        exclude=exclude,
    ).record
    return answer


def begin(
    record: Any,
    *,
    actor: Any,
    input: Mapping[str, Any] | None = None,
    request_id: str | None = None,
    reason: str = "",
    lifecycle: Any = None,
    using: str | None = None,
    exclude: Collection[str] = (),
) -> Fired:
    """`create`, answering the entry and whether it was a repeat as well."""
    definition = registry.of(lifecycle if lifecycle is not None else record)
    who = as_actor(actor)
    if request_id is not None:
        requests.check(request_id)
    entered, stored = new_records.stored_input(input)
    alias = using or router.db_for_write(type(record), instance=record)
    new_records.take_back(definition, record, alias)
    state = new_records.initial_state(definition, record)
    checked = orders.checked_reason(reason)
    left_out = new_records.left_out(record, exclude)
    request_hash = _fingerprint(definition, record, state, who, stored) if request_id is not None else ""

    def earlier() -> Fired | None:
        return None if request_id is None else _repeated(definition, request_id, who, request_hash, alias)

    beside = new_records.beside(definition, record)
    before: dict[str, int] = {}  # by lifecycle, the last version of an earlier record of the same key

    def work() -> Fired:
        now = timing.now(alias)
        ctx = TransitionContext(
            record=record,
            actor=who,
            transition=CREATE,
            source=None,
            target=state,
            now=now,
            input=entered,
            load_parameters=lambda: parameters.read(definition, alias),
            reason=checked,
            request_id=request_id,
            using=alias,
        )
        try:
            return _begin(
                definition,
                ctx,
                state,
                stored,
                request_hash,
                now,
                alias,
                before=before,
                beside=beside,
                left_out=left_out,
            )
        finally:
            tried.append(record.pk)

    tried: list[Any] = []
    was = _remember(record)
    committed: list[Fired] = []

    def attempt() -> Fired:
        return retrying.in_own_transaction(
            work, alias, settle=committed.append, undo=lambda: _restore(record, was), lost=lambda: _lost(definition)
        )

    try:
        found = earlier()
        if found is not None:
            return found
        try:
            return attempt()
        except IntegrityError:
            # Perhaps the key has a history: then this life's versions go on after the last one's.
            if tried and not committed:
                every = (definition, *(one for one, _ in beside))
                before = {
                    one.name: last for one in every if (last := lives.earlier(RecordKey.of(one, tried[-1], alias)))
                }
            if not before:
                raise
            return attempt()
    except Exception as error:
        # Two sends of one key at once: whatever refused the second (a key, a unique value, a guard that counts), the
        # first may have been committed meanwhile, and then its answer is this one's too.
        found = None if committed else _earlier_after(error, earlier)
        if found is not None:
            return found
        if isinstance(error, Refused):
            announcements.refused(definition, CREATE, "", who, error)
        raise


def _lost(definition: Definition) -> Conflict:
    return Conflict(
        f"This {definition.model._meta.verbose_name} was not created: others wrote beside it at each try. Try again.",
        lifecycle=definition.name,
        transition=CREATE,
    )


def _earlier_after(error: Exception, earlier: Callable[[], Fired | None]) -> Fired | None:
    """What a keyed creation that failed was answered before; None when it was not, or cannot be looked up now."""
    if isinstance(error, RequestReused):
        return None
    try:
        return earlier()
    except DatabaseError:
        return None


def _begin(
    definition: Definition,
    ctx: TransitionContext[Any],
    state: str,
    stored: Mapping[str, Any],
    request_hash: str,
    now: dt.datetime,
    using: str,
    *,
    before: Mapping[str, int],
    beside: Sequence[tuple[Definition, str]],
    left_out: set[str],
) -> Fired:
    starts = [(one, start, before.get(one.name, 0) + 1) for one, start in ((definition, state), *beside)]
    new_records.validate([one for one, _, _ in starts], ctx.record, using, left_out)
    for one, _, _ in starts:
        asked = (evaluator.ask(guard, ctx, sentences.creation()) for guard in one.create_guards)
        refusals = [refusal for refusal in asked if refusal is not None]
        if refusals:
            raise evaluator.refused(one, CREATE, "", refusals)
    with frames.noticing() as moved:
        moving.insert(ctx.record, starts, now, using)
    for name, last in before.items():
        lives.end_earlier(RecordKey.of(registry.get(name), ctx.record, using), last, now)
    begun = _first_entry(definition, ctx, starts[0][2], stored, request_hash, using, moved)
    for one, start, version in starts[1:]:
        _first_entry(one, replace(ctx, target=start, request_id=None), version, stored, "", using, moved)
    return begun


def _first_entry(
    definition: Definition,
    ctx: TransitionContext[Any],
    version: int,
    stored: Mapping[str, Any],
    request_hash: str,
    using: str,
    moved: set[RecordKey],
) -> Fired:
    """The entry of a creation and what it enqueues; ``moved``: what a receiver or ``save()`` has moved on already."""
    key = RecordKey.of(definition, ctx.record, using)
    ctx, state = replace(ctx, key=key), ctx.target or ""
    written = rows.entry(definition, ctx, target=state, version=version, stored_input=stored, request_hash=request_hash)
    entry: TransitionLog = history.append(written, using)
    ctx = replace(ctx, entry=entry)
    announcement = announcements.register(definition, ctx.record, using)
    # A receiver may have taken back what it fired; the entries say.
    moved_on = key in moved and history.has_moved_on(entry, using)
    hooks = list(definition.enter_hooks.get(state, ()))
    moved_on = moved_on or steps.run_hooks(hooks, ctx, definition, using)
    announcement.of(entry)
    enqueued = steps.enqueue(definition, entry, ctx, (), using, entering=not moved_on)
    if moved_on:
        fresh, _ = records.lock(definition, ctx.record.pk, using)
        moving.align(definition, ctx.record, fresh)
    return Fired(record=ctx.record, entry=entry, runs=tuple(enqueued))


def _fingerprint(definition: Definition, record: Any, state: str, actor: Actor, stored: Mapping[str, Any]) -> str:
    values = given.values(record, without=definition.owned_fields)
    return requests.fingerprint(CREATE, actor, {"state": state, "values": values, "input": stored})


def _repeated(definition: Definition, request_id: str, actor: Actor, request_hash: str, using: str) -> Fired | None:
    entry = history.find_creation(definition.name, request_id, using)
    if entry is None:
        return None
    if not lives.is_of_this_life(entry):
        raise requests.of_another_life(entry)
    requests.must_be_repeat(entry, CREATE, actor, [request_hash])
    return Fired(record=records.read(definition, entry.record_id, using), entry=entry, replayed=True)


def _remember(record: Any) -> tuple[dict[str, Any], bool, str | None]:
    return dict(record.__dict__), record._state.adding, record._state.db


def _restore(record: Any, was: tuple[dict[str, Any], bool, str | None]) -> None:
    values, adding, db = was
    record.__dict__.clear()
    record.__dict__.update(values)
    record._state.adding, record._state.db = adding, db
