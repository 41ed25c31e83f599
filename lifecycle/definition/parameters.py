"""Parameter: a default in the class that an operator may override, stored as JSON and judged by its type."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import math
import types
import typing
import uuid
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

from lifecycle import payloads
from lifecycle.definition.compiled import Definition
from lifecycle.definition.durations import LONGEST
from lifecycle.exceptions import LifecycleError
from lifecycle.suggest import did_you_mean

STORABLE = (
    "Use str, int, float, bool, Decimal, timedelta, date, datetime, time, UUID, an Enum, Literal, or lists, tuples, "
    "dicts and optionals of these."
)
PLAIN = (str, int, float, bool, Decimal, dt.timedelta, dt.datetime, dt.date, dt.time, uuid.UUID)


class InvalidParameter(LifecycleError):
    """A value does not fit the parameter's type, or there is no such parameter."""

    code = "invalid_parameter"


class Unfit(ValueError):
    """A value of the right type that cannot be kept or used; its text says why."""


def defaults(definition: Definition) -> Any:
    """The parameters as declared; None when the lifecycle has none."""
    return definition.parameters() if definition.parameters is not None else None


def structure(definition: Definition, overrides: Mapping[str, Any]) -> Any:
    """The parameters with an operator's overrides.

    Args:
        overrides: parameter name → JSON value, as `dump` made it.

    Raises:
        InvalidParameter: naming the parameter, what was given and what is expected.
    """
    if definition.parameters is None:
        if overrides:
            raise InvalidParameter(
                f"Lifecycle '{definition.name}' has no parameters; got {', '.join(sorted(overrides))}.",
                lifecycle=definition.name,
            )
        return None
    return definition.parameters(**{name: validate(definition, name, value) for name, value in overrides.items()})


def validate(definition: Definition, name: str, value: Any) -> Any:
    """One parameter's value from JSON.

    A ``timedelta`` is an ISO 8601 duration ("PT3M", "P2DT12H") or a number of seconds: both are accepted, the
    first is stored.

    Raises:
        InvalidParameter: no such parameter, or the value does not fit its type.
    """
    declared: Any = definition.parameters
    hints = _hints(declared) if declared is not None else {}
    if name not in hints:
        raise InvalidParameter(
            f"Lifecycle '{definition.name}' has no parameter '{name}'. {did_you_mean(name, hints)}",
            lifecycle=definition.name,
            field=name,
        )
    try:
        return converter().structure(value, hints[name])
    except Exception as error:  # cattrs raises what the type's own constructor raised
        said = str(error) if isinstance(error, Unfit) else f"{_shown(value)} is no {described(hints[name])}"
        raise InvalidParameter(
            f"Parameter '{name}' of lifecycle '{definition.name}': {said}.", lifecycle=definition.name, field=name
        ) from error


def dump(value: Any) -> Any:
    """A parameter's value as JSON, the way `validate` reads it back."""
    return converter().unstructure(value)


def described(hint: Any) -> str:
    """A type as people are told it."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(described(part) for part in arguments)
    if origin is typing.Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if hint is type(None):
        return "null"
    if hint is dt.timedelta:
        return "duration (ISO 8601 such as PT3M, or seconds)"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "one of " + ", ".join(repr(member.value) for member in hint)
    words = {
        str: "text",
        int: "whole number",
        float: "number",
        bool: "true or false",
        Decimal: "decimal number (as text)",
        dt.datetime: "date and time (ISO 8601)",
        dt.date: "date (ISO 8601)",
        dt.time: "time (ISO 8601)",
        uuid.UUID: "UUID",
    }
    return words.get(hint, str(hint).replace("typing.", ""))


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return "this value"
    return text if len(text) <= 80 else f"{text[:77]}..."


def complaints(definition: Definition) -> Iterator[tuple[str, str, str]]:
    """What makes a ``Parameters`` dataclass unfit to be edited: name, sentence, hint."""
    declared: Any = definition.parameters
    try:
        hints = _hints(declared)
    except Exception as error:  # noqa: BLE001 an annotation may name anything
        yield "", f"The types of Parameters cannot be read: {error}.", "Import the types at the top of the module."
        return
    for field in dataclasses.fields(declared):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            yield (
                field.name,
                f"Parameter '{field.name}' has no default.",
                "Give every parameter the value it begins with.",
            )
        elif not storable(hints[field.name]):
            yield (
                field.name,
                f"Parameter '{field.name}' is a {described(hints[field.name])}, which cannot be stored as JSON.",
                STORABLE,
            )
    try:
        made = declared()
    except TypeError:
        return
    for field in dataclasses.fields(declared):
        value, hint = getattr(made, field.name), hints[field.name]
        if storable(hint) and not _survives(value, hint):
            yield (
                field.name,
                f"The default of parameter '{field.name}' is {value!r}, no {described(hint)}.",
                "Make the default and the type agree.",
            )


def storable(hint: Any) -> bool:
    """Whether values of a type survive being stored as JSON and read back."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in PLAIN or hint is type(None):
        return True
    if isinstance(hint, type) and issubclass(hint, Enum):
        return True
    if origin is typing.Literal:
        return True
    if origin in (types.UnionType, typing.Union):
        # One type or null: with two types nobody could tell which a stored value was.
        return type(None) in arguments and len(arguments) == 2 and all(storable(part) for part in arguments)
    if origin in (list, tuple, set, frozenset):
        return all(part is Ellipsis or storable(part) for part in arguments)
    if origin is dict:
        return arguments[0] is str and storable(arguments[1])
    return False


def _survives(value: Any, hint: Any) -> bool:
    try:
        return bool(converter().structure(converter().unstructure(value), hint) == value)
    except Exception:  # noqa: BLE001 whatever the converter raises, the default does not fit
        return False


@functools.lru_cache(maxsize=256)
def _hints(declared: Any) -> Mapping[str, Any]:
    hints = typing.get_type_hints(declared)
    return {field.name: hints[field.name] for field in dataclasses.fields(declared)}


@functools.lru_cache(maxsize=1)
def converter() -> Any:
    """cattrs, strict about plain types; imported here because most imports of a lifecycle never need it."""
    from cattrs.preconf.json import make_converter

    converter = make_converter(detailed_validation=False)

    def strict(kind: type[Any], *allowed: type[Any], then: Callable[[Any], Any]) -> None:
        def structure(value: Any, _: Any) -> Any:
            if (isinstance(value, bool) and kind is not bool) or not isinstance(value, allowed):
                raise TypeError(value)
            return then(kind(value))

        converter.register_structure_hook(kind, structure)

    strict(bool, bool, then=lambda value: value)
    strict(int, int, then=_whole)
    strict(float, int, float, then=_finite)
    strict(str, str, then=_text)
    converter.register_structure_hook(dt.datetime, lambda value, _: _moment(value))
    converter.register_structure_hook(dt.timedelta, lambda value, _: _duration(value))
    converter.register_unstructure_hook(dt.timedelta, _iso)
    converter.register_structure_hook(Decimal, lambda value, _: _decimal(value))
    converter.register_unstructure_hook(Decimal, str)
    converter.register_structure_hook(uuid.UUID, lambda value, _: uuid.UUID(value))
    converter.register_unstructure_hook(uuid.UUID, str)
    converter.register_structure_hook(dt.time, lambda value, _: dt.time.fromisoformat(value))
    converter.register_unstructure_hook(dt.time, lambda value: value.isoformat())
    return converter


def _whole(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise Unfit("expected a whole number of at most 64 bits")
    return value


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise Unfit(f"{value} is no finite number")
    return value


def _text(value: str) -> str:
    if (found := payloads.unstorable(value)) is not None:
        raise Unfit(f"there is {found}")
    return value


def _moment(value: str) -> dt.datetime:
    found = dt.datetime.fromisoformat(value)
    if not dt.date.min < found.date() < dt.date.max:
        raise Unfit(f"{found.isoformat()} is outside the calendar in some time zones")
    return found


def _iso(value: dt.timedelta) -> str:
    from django.utils.duration import duration_iso_string

    return duration_iso_string(value)


def _duration(value: Any) -> dt.timedelta:
    if isinstance(value, bool):
        raise TypeError(value)
    from django.utils.dateparse import parse_duration

    found: dt.timedelta | None
    try:
        if isinstance(value, (int, float)):
            found = dt.timedelta(seconds=value)
        else:
            # Django reads "" as no time at all; here it is a value somebody forgot.
            found = parse_duration(value) if isinstance(value, str) and value else None
    except OverflowError:
        found = dt.timedelta.max
    if found is None:
        raise ValueError(value)
    if abs(found) > LONGEST:
        raise Unfit(f"expected a duration of at most {LONGEST.days} days")
    return found


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise TypeError(value)  # a float has already lost what a Decimal is for
    try:
        found = Decimal(value)
    except InvalidOperation as error:
        raise ValueError(value) from error
    if not found.is_finite():
        raise ValueError(value)
    return found
