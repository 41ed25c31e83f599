"""Option: what ``Meta`` and each declaration may say, and whether what was said makes sense."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from django.utils.functional import Promise

from lifecycle.definition.declared import Declared
from lifecycle.definition.durations import LONGEST
from lifecycle.definition.effects import Effect
from lifecycle.definition.reading import Declaration
from lifecycle.definition.retries import Retry
from lifecycle.definition.states import flat, plain
from lifecycle.definition.transitions import Transition
from lifecycle.exceptions import InvalidPayload
from lifecycle.payloads import jsonable

Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _texts(value: Any) -> bool:
    return isinstance(value, (str, Iterable)) and all(isinstance(item, str) and item for item in flat(value))


def _label(value: Any) -> bool:
    # Never str(value): a lazy translation is resolved when it is shown, in the language of whoever looks.
    return isinstance(value, (str, Promise))


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _duration(value: Any) -> bool:
    return isinstance(value, dt.timedelta) and dt.timedelta(0) < value <= LONGEST


def _wait(value: Any) -> bool:
    return isinstance(value, dt.timedelta) and dt.timedelta(0) <= value <= LONGEST


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _json(value: Any) -> bool:
    try:
        return isinstance(value, Mapping) and jsonable(dict(value)) is not None
    except InvalidPayload:
        return False


def _form(value: Any) -> bool:
    return value is None or (isinstance(value, type) and hasattr(value, "base_fields"))


def _permission(value: Any) -> bool:
    return all(callable(item) or _text(item) for item in flat(value))


def _anything(value: Any) -> bool:
    return True


DURATION = (_duration, "a datetime.timedelta longer than zero")
TEXT = (_text, "a string that is not empty")
FLAG = (_flag, "True or False")

# Per kind of declaration: option → (what makes it right, how the message calls that).
CHECKS: dict[str, dict[str, tuple[Check, str]]] = {
    "transition": {
        "label": (_label, "a string or a lazy translation"),
        "permission": (_permission, "a permission codename, a callable, or a list of them"),
        "form": (_form, "a Django form class"),
        "accept": (_texts, "a list of field names"),
        "secrets": (_texts, "a list of input keys"),
        "manual": FLAG,
        "on_same": (lambda value: value in ("refuse", "ok"), "'refuse' or 'ok'"),
        "meta": (_json, "a dict of JSON data"),
    },
    "effect": {
        "name": TEXT,
        "queue": TEXT,
        "atomic": FLAG,
        "stay_bound": FLAG,
        "only_during_stay": FLAG,
        "retry": (lambda value: isinstance(value, Retry), "a Retry(…)"),
        "timeout": (
            lambda value: value is None or _duration(value),
            "a datetime.timedelta longer than zero, or None for as long as it takes",
        ),
        "heartbeat_timeout": DURATION,
        "lease": DURATION,
        "delay": (_wait, "a datetime.timedelta of zero or more"),
    },
    "timeout": {"batch_size": (_count, "a whole number of 1 or more")},
    "deadline": {
        "batch_size": (_count, "a whole number of 1 or more"),
        "at": (
            lambda value: _text(value) or hasattr(value, "resolve_expression"),
            "the name of a date or datetime field, or an ORM expression",
        ),
    },
    "reminder": {"repeat": (lambda value: value is None or _duration(value), DURATION[1])},
    "state": {
        "label": (lambda value: value is None or _label(value), "a string or a lazy translation"),
        "meta": (_json, "a dict of JSON data"),
        "final": FLAG,
        "deprecated": FLAG,
    },
    "guard": {
        "code": TEXT,
        "kind": (lambda value: value in ("precondition", "permission"), "'precondition' or 'permission'"),
    },
}

# Where None says something else than leaving the option out.
NONE_MEANS = {("effect", "timeout")}

META: dict[str, tuple[Check, str]] = {
    "state_field": TEXT,
    "changed_at_field": TEXT,
    "version_field": TEXT,
    "accessor": (lambda value: _text(value) and value.isidentifier(), "a Python identifier"),
    "queue": TEXT,
    "services": (lambda value: value is None or callable(value) or _text(value), "a callable or its dotted path"),
}


class Options:
    """Reads options: the right ones are returned, the wrong ones reported and left at their default."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self._read: dict[int, dict[str, Any]] = {}

    def meta(self) -> dict[str, Any]:
        """What the definition takes from ``class Meta`` as it is."""
        meta = self.declaration.meta
        name = plain(meta.name)
        if not _text(name):
            self.declaration.report(
                "lifecycle.E004",
                "Meta has no name.",
                "Set Meta.name to a short word such as 'orders': it is stored in rows and never renamed.",
                "Meta.name",
            )
            name = self.declaration.cls.__name__
        if not flat(meta.initial):
            self.declaration.report(
                "lifecycle.E004",
                "Meta has no initial state.",
                "Set Meta.initial to the state records are created in, or to a list with the default first.",
                "Meta.initial",
            )
        values = {option: getattr(meta, option) for option in META}
        good = judged(self.declaration, META, values, "Meta")
        defaults = type(meta)()
        read = {option: good.get(option, getattr(defaults, option)) for option in META if option != "services"}
        return {"name": name, "model": meta.model, **read}

    def of(self, declared: Declared, where: str) -> dict[str, Any]:
        """The options of a declaration that make sense."""
        if id(declared) not in self._read:
            checks = CHECKS[declared.word]
            given = declared.options.items()
            values = {name: value for name, value in given if value is not None or (declared.word, name) in NONE_MEANS}
            read = judged(self.declaration, checks, values, where)
            if isinstance(declared, Transition):
                read.update({key: tuple(flat(read[key])) for key in ("accept", "secrets") if key in read})
            if isinstance(declared, Effect) and "retry" in read:
                self._retry(read, where)
            self._read[id(declared)] = read
        return self._read[id(declared)]

    def guard(self, options: Mapping[str, Any], where: str) -> dict[str, Any]:
        """The options of a guard that make sense."""
        return judged(self.declaration, CHECKS["guard"], options, where)

    def _retry(self, read: dict[str, Any], where: str) -> None:
        retry: Retry = read["retry"]
        wrong = [f"{name} is {_shown(getattr(retry, name))}" for name, good in RETRY.items() if not good(retry)]
        if not wrong and retry.total is not None and retry.attempts == 1:
            wrong = [f"total is {_shown(retry.total)}, but attempts is 1, so there is no other attempt to limit"]
        if wrong:
            self.declaration.report(
                "lifecycle.E032",
                f"Retry cannot be kept: {', '.join(wrong)}.",
                "attempts: a whole number from 1, or None for no limit; total: a timedelta longer than zero; "
                "backoff and maximum: timedeltas of zero or more; factor: 1 or more; jitter: 0 to 1; "
                "retry_on and no_retry_on: exception classes.",
                where,
            )
            del read["retry"]


def judged(
    declaration: Declaration, checks: Mapping[str, tuple[Check, str]], values: Mapping[str, Any], *where: str
) -> dict[str, Any]:
    """The options that make sense; the others are reported with what would."""
    good: dict[str, Any] = {}
    for option, value in values.items():
        check, expected = checks.get(option, (_anything, ""))
        if check(value):
            good[option] = value
        else:
            place = ("Meta", option) if where == ("Meta",) else where
            declaration.report("lifecycle.E002", f"{option} is {_shown(value)}.", f"Give {expected}.", *place)
    return good


def _number(value: Any, least: float, most: float = math.inf) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return number and least <= value <= most


def _exceptions(value: Any) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(item, type) and issubclass(item, BaseException) for item in value
    )


RETRY: dict[str, Callable[[Retry], bool]] = {
    "attempts": lambda retry: retry.attempts is None or _count(retry.attempts),
    "total": lambda retry: retry.total is None or _duration(retry.total),
    "backoff": lambda retry: _wait(retry.backoff),
    "factor": lambda retry: _number(retry.factor, 1),
    "maximum": lambda retry: _wait(retry.maximum),
    "jitter": lambda retry: _number(retry.jitter, 0, 1),
    "retry_on": lambda retry: _exceptions(retry.retry_on),
    "no_retry_on": lambda retry: _exceptions(retry.no_retry_on),
}


def _shown(value: Any) -> str:
    value = value.value if isinstance(value, Enum) else value
    text = f"'{value}'" if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
