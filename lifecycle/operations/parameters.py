"""Parameter, changed by a person: judged by its type and range, written with an audit row that keeps the old value."""

from __future__ import annotations

import dataclasses
import operator
import typing
from typing import Any

from django.db import IntegrityError, router, transaction
from django.utils.translation import gettext as _

from lifecycle import registry
from lifecycle.actors import as_actor
from lifecycle.definition import parameters as declared
from lifecycle.definition.compiled import Definition
from lifecycle.definition.overrides import fitting, in_force, judge
from lifecycle.definition.parameters import InvalidParameter
from lifecycle.exceptions import Conflict
from lifecycle.operations import preconditions
from lifecycle.store import operator_actions, timing
from lifecycle.store import parameters as stored

SET, RESET = "set_parameter", "reset_parameter"


class Unsaid:
    """What stands for an argument that was not given."""


UNSAID: typing.Final = Unsaid()


def set_parameter(
    lifecycle: Any,
    name: str,
    value: Any,
    *,
    actor: Any,
    reason: str = "",
    expected: Any = UNSAID,
    using: str | None = None,
) -> Any:
    """Overrides one parameter from now on; what already waits is judged by the new value at its next check.

    Args:
        lifecycle: its name, class, model or one of its records.
        name: the parameter's name in ``Parameters``.
        value: of the parameter's type, such as ``timedelta(hours=3)``; or JSON (a duration is ISO 8601 or seconds).
        actor: who asks; required.
        reason: why. Kept in the audit row.
        expected: the value in force that the decision was made on; another one is a `Conflict`.
        using: the database; by default where the records are written.

    Returns:
        All parameters as they now are.

    Raises:
        UnknownLifecycle: no lifecycle has this name, or the model has none or several.
        InvalidParameter: no such parameter, the wrong type, out of its range, or refused by the class itself.
        Conflict: somebody else changed it meanwhile.
    """
    definition, value = registry.of(lifecycle), declared.dump(value)
    declared.validate(definition, name, value)
    return _write(definition, name, value, SET, actor=actor, reason=reason, expected=expected, using=using)


def reset_parameter(
    lifecycle: Any,
    name: str,
    *,
    actor: Any,
    reason: str = "",
    expected: Any = UNSAID,
    using: str | None = None,
) -> Any:
    """Lets the declaration's value rule again; otherwise as `set_parameter`."""
    definition = registry.of(lifecycle)
    in_declaration = _default(definition, name)
    return _write(definition, name, in_declaration, RESET, actor=actor, reason=reason, expected=expected, using=using)


def check(definition: Definition, name: str, value: Any, overrides: typing.Mapping[str, Any] | None = None) -> Any:
    """The parameters with one value changed, judged as a whole: type, range, the class's own rules, the triggers.

    A field's range is its metadata: ``field(default=…, metadata={"minimum": …, "maximum": …})``.

    Raises:
        InvalidParameter: naming the parameter and what is expected.
    """
    judged = declared.validate(definition, name, value)
    _in_range(definition, name, judged)
    others, _unfit = fitting(definition, overrides or {})
    try:
        return judge(definition, {**others, name: value})
    except InvalidParameter as error:
        raise _invalid(definition, name, f"Parameter '{name}' of lifecycle '{definition.name}': {error}") from error


def field_of(definition: Definition, name: str) -> dataclasses.Field[Any]:
    """The field that declares a parameter.

    Raises:
        InvalidParameter: there is none of this name.
    """
    fields: Any = dataclasses.fields(definition.parameters) if definition.parameters is not None else ()
    found = next((field for field in fields if field.name == name), None)
    if found is None:
        raise _invalid(definition, name, f"Lifecycle '{definition.name}' has no parameter '{name}'.")
    return found  # type: ignore[no-any-return]


def _write(
    definition: Definition,
    name: str,
    value: Any,
    action: str,
    *,
    actor: Any,
    reason: str,
    expected: Any,
    using: str | None,
) -> Any:
    who, why = as_actor(actor), preconditions.checked_reason(reason, force=False)
    alias = using or router.db_for_write(definition.model)
    try:
        with transaction.atomic(using=alias):
            overrides = stored.lock(definition.name, alias)
            current, unfit = in_force(definition, overrides)
            seen = declared.dump(getattr(current, name, None))
            if not isinstance(expected, Unsaid) and seen != declared.dump(expected):
                raise _conflict(definition, name)
            before = overrides[name] if name in unfit else seen
            made = check(definition, name, value, overrides)
            now = timing.now(alias)
            # As it reads back: "180" seconds and "PT3M" are one value, and the history should say so once.
            after = declared.dump(getattr(made, name))
            if action == RESET:
                stored.clear(definition.name, name, alias)
            else:
                stored.write(definition.name, name, after, now, alias)
            operator_actions.note(
                action,
                lifecycle=definition.name,
                actor=who,
                reason=why,
                before={"parameter": name, "before": before, "after": after},
                now=now,
                using=alias,
            )
            return made
    except IntegrityError as error:
        raise _conflict(definition, name) from error


def _default(definition: Definition, name: str) -> Any:
    field_of(definition, name)
    return declared.dump(getattr(declared.defaults(definition), name))


def _in_range(definition: Definition, name: str, value: Any) -> None:
    limits = field_of(definition, name).metadata
    for key, word, holds in (("minimum", "at least", operator.ge), ("maximum", "at most", operator.le)):
        limit = limits.get(key)
        if limit is not None and value is not None and not _holds(holds, value, limit):
            raise _invalid(
                definition,
                name,
                f"Parameter '{name}' of lifecycle '{definition.name}': expected {word} {limit}, got {value}.",
                expected=limit,
                got=value,
            )


def _holds(compare: Any, value: Any, limit: Any) -> bool:
    try:
        return bool(compare(value, limit))
    except TypeError:  # a moment without a time zone beside a limit with one
        return False


def _invalid(definition: Definition, name: str, sentence: str, **facts: Any) -> InvalidParameter:
    return InvalidParameter(sentence, lifecycle=definition.name, field=name, **facts)


def _conflict(definition: Definition, name: str) -> Conflict:
    return Conflict(
        _("Somebody else has changed the parameter “%(name)s” of “%(lifecycle)s” meanwhile. Look again, then decide.")
        % {"name": name, "lifecycle": definition.name},
        lifecycle=definition.name,
        field=name,
    )
