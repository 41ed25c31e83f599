"""Record check: whether a definition fits the model whose rows it moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Caution
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db import models

from lifecycle import registry
from lifecycle.checks.ids import TAG
from lifecycle.definition.compiled import CompiledDeadline, Definition
from lifecycle.models import TransitionLog
from lifecycle.suggest import did_you_mean


def _with_models() -> Iterator[tuple[Definition, Any]]:
    for definition in registry.all():
        if definition.model is not None:
            yield definition, definition.model._meta


def _where(definition: Definition, *parts: str) -> str:
    return ".".join((definition.lifecycle.__name__, *parts))


def _field(options: Any, name: str) -> Any:
    try:
        return options.get_field(name)
    except FieldDoesNotExist:
        return None


def _columns(options: Any) -> list[str]:
    return [field.name for field in options.concrete_fields]


@register(TAG)
def owned_columns_exist(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports an owned column that the model does not have, or that cannot hold what it should."""
    found: list[CheckMessage] = []
    for definition, options in _with_models():
        wanted = (
            ("state_field", definition.state_field, models.CharField, "StateField(…)"),
            ("changed_at_field", definition.changed_at_field, models.DateTimeField, "ChangedAtField()"),
            ("version_field", definition.version_field, models.IntegerField, "VersionField()"),
        )
        for option, name, kind, made in wanted:
            field = _field(options, name)
            if field is None:
                said = f"{options.label} has no field '{name}'."
                hint = f"Let {options.object_name} inherit from LifecycleModel, add {name} = {made}, or name another "
                hint += f"column in Meta.{option}. {did_you_mean(name, _columns(options))}"
            elif not isinstance(field, kind):
                said = f"{options.label}.{name} is a {type(field).__name__} and cannot be the {option}."
                hint = f"Declare it as {made}."
            else:
                continue
            found.append(Error(said, hint=hint, obj=_where(definition, "Meta", option), id="lifecycle.E105"))
    return found


@register(TAG)
def choices_are_the_states(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a state that is no choice of the field or too long for it, and a choice that is no state."""
    found: list[CheckMessage] = []
    for definition, options in _with_models():
        field = _field(options, definition.state_field)
        choices = [str(value) for value, _ in getattr(field, "flatchoices", ()) if value not in (None, "")]
        where = _where(definition, "Meta.states")
        for name in definition.states:
            if choices and name not in choices:
                said = f"The state '{name}' is no choice of {options.label}.{definition.state_field}."
                found.append(Error(said, hint=did_you_mean(name, choices), obj=where, id="lifecycle.E106"))
            elif field is not None and field.max_length is not None and len(name) > field.max_length:
                said = f"The state '{name}' is longer than {options.label}.{definition.state_field} can hold."
                hint = f"Choose a name of at most {field.max_length} characters, or a longer column."
                found.append(Error(said, hint=hint, obj=where, id="lifecycle.E106"))
        for name in choices:
            if name not in definition.states:
                said = f"{options.label}.{definition.state_field} has the choice '{name}', which is no state."
                hint = "Add it to Meta.states (with State(deprecated=True) if only old records are in it) or remove it."
                found.append(Error(said, hint=hint, obj=where, id="lifecycle.E106"))
    return found


@register(TAG)
def records_can_begin_without_naming_a_state(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a state field whose default is no initial state: every creation that names none is refused."""
    found: list[CheckMessage] = []
    for definition, options in _with_models():
        field = _field(options, definition.state_field)
        default = str(field.get_default()) if field is not None else ""
        if default not in definition.states or default in definition.initial:
            continue
        begins, first = f"{options.label}.{definition.state_field}", definition.initial[0]
        found.append(
            Caution(
                f"{begins} has the default '{default}', in which no record of '{definition.name}' begins: "
                "one that names no state is refused.",
                hint=f"Give the field default={first!r}, or add '{default}' to Meta.initial.",
                obj=_where(definition, "Meta.initial"),
                id="lifecycle.W103",
            )
        )
    return found


@register(TAG)
def accepted_names_are_editable_columns(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a name in ``accept`` that is no column of the record, or one nobody may edit."""
    found: list[CheckMessage] = []
    for definition, options in _with_models():
        for transition in definition.transitions.values():
            for name in transition.accept:
                field = _field(options, name)
                if field is None:
                    said, hint = f"{options.label} has no field '{name}'.", did_you_mean(name, _columns(options))
                elif not field.concrete or field.many_to_many:
                    said = f"{options.label}.{name} is no column of the record."
                    hint = "Accept fields of the record itself; write others in a hook."
                elif not field.editable:
                    said, hint = (
                        f"{options.label}.{name} is not editable.",
                        "Write it with set instead of accepting it.",
                    )
                elif isinstance(field, models.FileField):
                    said = f"{options.label}.{name} is a file, which no input can hold."
                    hint = (
                        "Save the upload in a view or an endpoint of your own; a transition is told of it afterwards."
                    )
                else:
                    continue
                where = _where(definition, transition.name)
                found.append(Error(f"accept: {said}", hint=hint, obj=where, id="lifecycle.E107"))
    return found


@register(TAG)
def record_keys_fit_the_history(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a key that the history's text column cannot hold."""
    limit = TransitionLog._meta.get_field("record_id").max_length or 0
    found: list[CheckMessage] = []
    for definition, options in _with_models():
        key = _column_of(options.pk)
        length = key.max_length
        text = isinstance(key, (models.CharField, models.TextField))
        if not key.concrete or key.column is None:
            said, hint = "has several columns", "Give the model one primary key."
        elif text and (length is None or length > limit):
            said, hint = "may be longer", f"Give it max_length={limit} or less."
        else:
            continue
        found.append(
            Error(
                f"The history keeps a record's key in {limit} characters; {options.label}.{options.pk.name} {said}.",
                hint=hint,
                obj=_where(definition, "Meta.model"),
                id="lifecycle.E108",
            )
        )
    return found


def _column_of(key: Any) -> Any:
    while getattr(key, "remote_field", None) is not None:
        key = key.target_field
    return key


@register(TAG)
def deadlines_are_dates(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a deadline whose ``at`` names what is no date or datetime field of the record."""
    found: list[CheckMessage] = []
    for definition, options in _with_models():
        for deadline in definition.deadlines.values():
            if not isinstance(deadline.at, str):
                found.extend(_unresolved(definition, deadline))
                continue
            field = _field(options, deadline.at)
            if isinstance(field, models.DateField):  # a DateTimeField is one too
                continue
            dates = [each.name for each in options.concrete_fields if isinstance(each, models.DateField)]
            said = "has no such field" if field is None else f"is a {type(field).__name__}"
            found.append(
                Error(
                    f"Deadline '{deadline.name}' waits for '{deadline.at}': {options.label} {said}."
                    if field is None
                    else f"Deadline '{deadline.name}' waits for {options.label}.{deadline.at}, which {said}.",
                    hint=f"Name a date or datetime field. {did_you_mean(deadline.at, dates)}",
                    obj=_where(definition, deadline.name),
                    id="lifecycle.E110",
                )
            )
    return found


def _unresolved(definition: Definition, deadline: CompiledDeadline) -> Iterator[CheckMessage]:
    """What keeps a deadline's expression from being asked of the record's table; nothing is asked of a database."""
    try:
        definition.model._base_manager.annotate(lifecycle_deadline=deadline.at)
    except FieldError as error:
        yield Error(
            f"Deadline '{deadline.name}' waits for an expression that {definition.model._meta.label} cannot answer.",
            hint=str(error),
            obj=_where(definition, deadline.name),
            id="lifecycle.E110",
        )


@register(TAG)
def lifecycles_of_one_model_share_nothing(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports two lifecycles of one row that own the same column, or are reached by the same attribute."""
    found: list[CheckMessage] = []
    taken: dict[tuple[Any, str], str] = {}
    for definition, options in _with_models():
        names = [*definition.owned_fields, f"record.{definition.accessor}"]
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                other = definition.name
            else:
                other = taken.setdefault((_home(options, name), name), definition.name)
                if other == definition.name:
                    continue
            found.append(
                Error(
                    f"'{name}' of {options.label} is used twice: by lifecycle '{other}' and by '{definition.name}'.",
                    hint="Give each lifecycle columns and an accessor of its own in Meta.",
                    obj=_where(definition, "Meta"),
                    id="lifecycle.E111",
                )
            )
    return found


def _home(options: Any, name: str) -> Any:
    """The model whose table a column stands in; for the accessor, the record's own."""
    field = _field(options, name)
    return (options if field is None else field.model._meta).concrete_model


@register(TAG)
def timeouts_have_an_index(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports timeouts that would read the whole table on every tick."""
    found: list[CheckMessage] = []
    for definition, options in _with_models():
        wanted = (definition.state_field, definition.changed_at_field)
        waits = list(definition.timeouts)
        if waits and not _is_indexed(options, wanted):
            found.append(
                Caution(
                    f"{options.label} has no index on ({', '.join(wanted)}), which the tick asks for every timeout.",
                    hint=f"Add models.Index(fields={list(wanted)!r}, name='…') to {options.object_name}.Meta.indexes.",
                    obj=_where(definition, waits[0]),
                    id="lifecycle.W101",
                )
            )
    return found


@register(TAG)
def deadlines_have_an_index(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports deadlines that would read every record waiting in their states on every tick.

    Only where the date is a column that stands beside the state's; for an expression nobody but its author can tell.
    """
    found: list[CheckMessage] = []
    for definition, options in _with_models():
        for deadline in definition.deadlines.values():
            wanted = (definition.state_field, str(deadline.at))
            date, state = _field(options, wanted[1]), _field(options, wanted[0])
            if not isinstance(date, models.DateField) or state is None or date.model is not state.model:
                continue
            if _is_indexed(options, wanted):
                continue
            found.append(
                Caution(
                    f"{options.label} has no index on ({', '.join(wanted)}), which the tick asks for this deadline.",
                    hint=f"Add models.Index(fields={list(wanted)!r}, name='…') to {options.object_name}.Meta.indexes.",
                    obj=_where(definition, deadline.name),
                    id="lifecycle.W105",
                )
            )
    return found


def _is_indexed(options: Any, wanted: tuple[str, ...]) -> bool:
    home = _field(options, wanted[0])
    meta = home.model._meta if home is not None else options
    unique = (one for one in meta.constraints if isinstance(one, models.UniqueConstraint))
    for index in [*meta.indexes, *unique]:
        fields = [name.removeprefix("-") for name in index.fields]
        if tuple(fields[: len(wanted)]) == wanted:
            return True
    return False


@register(TAG)
def permissions_exist(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a permission that no installed model declares: nobody but a superuser would ever have it."""
    known = set(_declared_permissions())
    found: list[CheckMessage] = []
    for definition, options in _with_models():
        for transition in definition.transitions.values():
            for permission in transition.permissions:
                if not isinstance(permission, str):
                    continue
                name = permission if "." in permission else f"{options.app_label}.{permission}"
                if name not in known:
                    label = name.partition(".")[0]
                    near = sorted(one for one in known if one.startswith(f"{label}.")) or sorted(known)
                    found.append(
                        Caution(
                            f"No installed model declares the permission '{name}'.",
                            hint=f"Add it to Meta.permissions of a model. {did_you_mean(name, near)}",
                            obj=_where(definition, transition.name),
                            id="lifecycle.W102",
                        )
                    )
    return found


def _declared_permissions() -> Iterable[str]:
    for model in apps.get_models():
        options = model._meta
        for action in options.default_permissions:
            yield f"{options.app_label}.{action}_{options.model_name}"
        for codename, _ in options.permissions:
            yield f"{options.app_label}.{codename}"
