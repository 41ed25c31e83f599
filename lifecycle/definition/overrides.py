"""Override: an operator's value of a parameter, judged with the others when it is set and whenever it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from lifecycle.definition import parameters
from lifecycle.definition.compiled import Definition
from lifecycle.definition.parameters import InvalidParameter


def judge(definition: Definition, overrides: Mapping[str, Any]) -> Any:
    """The parameters with these overrides: of their types, within the class's own rules, fit for every trigger.

    Raises:
        InvalidParameter: what does not fit.
    """
    try:
        made = parameters.structure(definition, overrides)
        lengths = [one.after for one in definition.timeouts.values()]
        for length in [*lengths, *(one.after for one in definition.reminders.values())]:
            length(made)
    except InvalidParameter:
        raise
    except Exception as error:  # the class's own rules and functions raise what they like
        said = " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
        raise InvalidParameter(said or type(error).__name__, lifecycle=definition.name) from error
    return made


def fitting(definition: Definition, overrides: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Those overrides that fit by themselves, and what is wrong with each of the others."""
    good: dict[str, Any] = {}
    unfit: dict[str, str] = {}
    for name, value in overrides.items():
        try:
            parameters.validate(definition, name, value)
        except InvalidParameter as error:
            unfit[name] = str(error)
        else:
            good[name] = value
    return good, unfit


def in_force(definition: Definition, overrides: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """The parameters as they count, and what is wrong with each stored override that does not.

    Where code was deployed that reads a stored value differently, or the row was written by hand, the declaration's
    value counts: a value that nobody can use must not stop every record of the lifecycle.
    """
    if not overrides:
        return parameters.defaults(definition), {}
    good, unfit = fitting(definition, overrides)
    try:
        return judge(definition, good), unfit
    except InvalidParameter as error:
        # Each fits by itself and all of them do not: which one is wrong, nobody can tell.
        return parameters.defaults(definition), {**unfit, **dict.fromkeys(good, str(error))}
