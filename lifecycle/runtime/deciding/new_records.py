"""New record: whether a record may begin as it is, and in which state."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from lifecycle import payloads, registry
from lifecycle.conf import options
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import InvalidInput, InvalidPayload, NotAnInitialState
from lifecycle.refusals import InputProblem
from lifecycle.runtime.deciding import inputs
from lifecycle.store import moving, readable, records, uniqueness
from lifecycle.suggest import did_you_mean


def beside(definition: Definition, record: Any) -> list[tuple[Definition, str]]:
    """The other lifecycles of the record's model, which begin with it, and the states they begin in."""
    others = [one for one in registry.for_model(definition.model) if one.name != definition.name]
    return [(one, initial_state(one, record)) for one in others]


def take_back(definition: Definition, record: Any, using: str) -> None:
    """An instance whose creation was rolled back by its caller begins anew, as ``save()`` would insert it again."""
    if record.pk is None or record._state.adding or records.exists(definition, record.pk, using):
        return
    record._state.adding = True
    moving.forget_beginning(definition, record)


def initial_state(definition: Definition, record: Any) -> str:
    """The state a record begins in.

    Raises:
        NotAnInitialState: it exists already, or no record begins in the state it holds.
    """
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


def left_out(record: Any, exclude: Collection[str]) -> set[str]:
    """The fields a caller wants left out of the validation.

    Raises:
        TypeError: no list of names, or a name the model does not have.
    """
    known = [field.name for field in record._meta.get_fields() if getattr(field, "concrete", False)]
    if isinstance(exclude, str):
        raise TypeError(f"create(exclude=…): expected names of fields in a list, got the text {exclude!r}.")
    for name in exclude:
        if name not in known:
            raise TypeError(
                f"create(exclude=…): {record._meta.object_name} has no field {name!r}. {did_you_mean(name, known)}"
            )
    return set(exclude)


def validate(definitions: Sequence[Definition], record: Any, using: str, left_out: set[str]) -> None:
    """Asks the model whether the record may be saved as it is, and every column whether it gives back what it is given.

    Raises:
        InvalidInput: with every problem of every field.
    """
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


def stored_input(input: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The input as hooks get it, and as the entry keeps it.

    Raises:
        InvalidInput: it is no object of JSON-able values.
    """
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
