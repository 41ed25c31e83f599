"""Creation: the first entry of a record's life."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import DatabaseError, IntegrityError, router

from lifecycle import payloads, registry
from lifecycle.actors import Actor, as_actor
from lifecycle.conf import options
from lifecycle.definition.compiled import Definition
from lifecycle.definition.contexts import TransitionContext
from lifecycle.exceptions import Conflict, InvalidInput, InvalidPayload, NotAnInitialState, Refused, RequestReused
from lifecycle.models import CREATE, TransitionLog
from lifecycle.refusals import InputProblem
from lifecycle.runtime.deciding import evaluator, inputs, orders, requests
from lifecycle.runtime.results import Fired
from lifecycle.runtime.verbs import firing
from lifecycle.runtime.writing import announcements, frames, retrying, rows
from lifecycle.store import given, history, lives, parameters, readable, records, timing, uniqueness
from lifecycle.store.record_keys import RecordKey
from lifecycle.suggest import did_you_mean

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
        record: an unsaved instance; its state column names one of the initial states (the default, if left alone).
        actor: a user, ``SYSTEM`` or ``Actor("name")``. Required.
        input: JSON-able data for the entry and for hooks.
        request_id: a key that makes a repeat harmless: it answers the record the first call created.
        reason: kept in the history.
        lifecycle: which one, for a model with several.
        using: the database; by default where the router sends the record.
        exclude: fields that are not validated because the model's own ``save()`` fills them, as ``full_clean`` has it.

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
    entered, stored = _input(input)
    alias = using or router.db_for_write(type(record), instance=record)
    _take_back(definition, record, alias)
    state = _initial_state(definition, record)
    checked = orders.checked_reason(reason)
    left_out = _left_out(record, exclude)
    request_hash = _fingerprint(definition, record, state, who, stored) if request_id is not None else ""

    def earlier() -> Fired | None:
        return None if request_id is None else _repeated(definition, request_id, who, request_hash, alias)

    beside = _beside(definition, record)
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
    _validate([one for one, _, _ in starts], ctx.record, using, left_out)
    for one, _, _ in starts:
        refusals = [refusal for guard in one.create_guards if (refusal := evaluator.ask(guard, ctx)) is not None]
        if refusals:
            raise evaluator.refused(one, CREATE, "", refusals)
    with frames.noticing() as moved:
        records.insert(ctx.record, starts, now, using)
    for name, last in before.items():
        lives.end_earlier(RecordKey.of(registry.get(name), ctx.record, using), last, now)
    begun = _first_entry(definition, ctx, starts[0][2], stored, request_hash, using, moved)
    for one, start, version in starts[1:]:
        _first_entry(one, replace(ctx, target=start, request_id=None), version, stored, "", using, moved)
    return begun


def _beside(definition: Definition, record: Any) -> list[tuple[Definition, str]]:
    """The other lifecycles of the record's model, which begin with it, and the states they begin in."""
    others = [one for one in registry.for_model(definition.model) if one.name != definition.name]
    return [(one, _initial_state(one, record)) for one in others]


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
    moved_on = moved_on or firing.run_hooks(hooks, ctx, definition, using)
    announcement.of(entry)
    enqueued = firing.enqueue(definition, entry, ctx, (), using, entering=not moved_on)
    if moved_on:
        fresh, _ = records.lock(definition, ctx.record.pk, using)
        records.align(definition, ctx.record, fresh)
    return Fired(record=ctx.record, entry=entry, runs=tuple(enqueued))


def _take_back(definition: Definition, record: Any, using: str) -> None:
    """An instance whose creation was rolled back by its caller begins anew, as ``save()`` would insert it again."""
    if record.pk is None or record._state.adding or records.exists(definition, record.pk, using):
        return
    record._state.adding = True
    records.forget_beginning(definition, record)


def _initial_state(definition: Definition, record: Any) -> str:
    state = records.state_of(definition, record)
    if record.pk is not None and not record._state.adding:
        raise NotAnInitialState(
            f"This {record._meta.verbose_name} exists already; create() begins the life of a new one. "
            "To move it, fire a transition.",
            lifecycle=definition.name,
            field=definition.state_field,
        )
    if state not in definition.initial:
        raise NotAnInitialState(
            f"{record._meta.object_name}.{definition.state_field}: no record begins in '{state}'. "
            f"Begin in {' or '.join(repr(one) for one in definition.initial)} and fire the transitions that lead on.",
            lifecycle=definition.name,
            field=definition.state_field,
            expected=definition.initial,
            got=state,
        )
    return state


def _left_out(record: Any, exclude: Collection[str]) -> set[str]:
    known = [field.name for field in record._meta.get_fields() if getattr(field, "concrete", False)]
    if isinstance(exclude, str):
        raise TypeError(f"create(exclude=…): expected names of fields in a list, got the text {exclude!r}.")
    for name in exclude:
        if name not in known:
            raise TypeError(
                f"create(exclude=…): {record._meta.object_name} has no field {name!r}. {did_you_mean(name, known)}"
            )
    return set(exclude)


def _validate(definitions: Sequence[Definition], record: Any, using: str, left_out: set[str]) -> None:
    owned = {name for one in definitions for name in one.owned_fields} | left_out
    record._state.db = using  # where relations and constraints are looked up
    problems: list[InputProblem] = []
    try:
        with uniqueness.looked_for_on(record, using):
            record.full_clean(exclude=owned)
    except ValidationError as error:
        for name, errors in error.error_dict.items():
            problems += inputs.problems_of(errors, "" if name == NON_FIELD_ERRORS else name)
    except inputs.CHOKED:
        problems += (found := list(_choking(record, owned)))
        if not found:
            raise
    problems += _unreadable(record, {problem.field for problem in problems}, using)
    if problems:
        invalid = InvalidInput(
            " ".join(str(problem) for problem in problems), problems=problems, lifecycle=definitions[0].name
        )
        missing = sorted({problem.field for problem in problems if problem.code in ("null", "blank")})
        if missing:  # for who wrote the call, not for who filled in a form
            invalid.add_note(f"If {record._meta.object_name}.save() fills them itself: create(…, exclude={missing}).")
        raise invalid


def _choking(record: Any, owned: set[str]) -> Iterator[InputProblem]:
    """The columns whose own cleaning fails with something else than a complaint: a value of another type."""
    for field in record._meta.concrete_fields:
        if field.name in owned or field.generated:
            continue
        value = record.__dict__.get(field.attname)
        if value is None or hasattr(value, "resolve_expression"):
            continue
        try:
            field.clean(value, record)
        except ValidationError as error:
            yield from inputs.problems_of([error], field.name)
        except inputs.CHOKED as error:
            yield InputProblem(field=field.name, code="invalid", message=str(error))


def _unreadable(record: Any, complained_of: set[str], using: str) -> Iterator[InputProblem]:
    for field in record._meta.concrete_fields:
        if field.name in complained_of or field.generated:
            continue
        complaint = readable.complaint(field, record.__dict__.get(field.attname), using)
        if complaint is not None:
            yield InputProblem(field=field.name, code="invalid", message=complaint)


def _input(input: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if input is None:
        return {}, {}
    try:
        if not isinstance(input, Mapping):
            raise InvalidPayload(f"expected an object of named values, got {input!r:.80}.", path="$")
        return dict(input), payloads.jsonable(input, what="input", limit=options().payload_limit)
    except InvalidPayload as error:
        path = str(error.facts.get("path", "")).removeprefix("$").removeprefix(".")
        problem = InputProblem(field=path, code="invalid_payload", message=error.message)
        raise InvalidInput(f"input: {error.message}", problems=[problem]) from error


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
