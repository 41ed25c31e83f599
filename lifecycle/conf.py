"""Options: ``settings.LIFECYCLE`` validated once, as a frozen object; nobody else reads settings."""

from __future__ import annotations

import dataclasses
import datetime as dt
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed

from lifecycle.definition.durations import LONGEST
from lifecycle.exceptions import InvalidSettings
from lifecycle.refusals import InputProblem
from lifecycle.suggest import did_you_mean

NAME = "LIFECYCLE"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a project may set, with the defaults. The key in ``LIFECYCLE`` is the field's name in capitals."""

    database_guard: bool = field(
        default=False,
        metadata={"help": "Install a database trigger that rejects a changed status without a new version."},
    )
    database_guard_unmanaged: tuple[str, ...] = field(
        default=(),
        metadata={"help": "Unmanaged models (`app.Model`) whose tables get this trigger too."},
    )
    begin_saved: bool = field(
        default=False,
        metadata={"help": "Write the first history entry of records that are saved without `create()`, at the insert."},
    )
    dispatcher: str | None = field(
        default=None,
        metadata={
            "help": "Dotted path of the class that wakes workers after a commit. None: Celery's, if Celery is "
            "installed; otherwise no worker is woken, and `lifecycle_worker` polls."
        },
    )
    queues: Mapping[str, str] = field(
        default_factory=dict,
        metadata={"help": "The Celery queue for each queue of a lifecycle, if it is not Celery's default queue."},
    )
    lease: dt.timedelta = field(
        default=dt.timedelta(seconds=60),
        metadata={
            "help": "How soon a lost worker is noticed. Workers renew their leases, so effects may take longer.",
            "minimum": dt.timedelta(seconds=1),
        },
    )
    max_crashes: int = field(
        default=3, metadata={"help": "A run is dead after it has lost this many leases.", "minimum": 1}
    )
    crash_backoff: dt.timedelta = field(
        default=dt.timedelta(seconds=5), metadata={"help": "Pause before a run starts again after its worker was lost."}
    )
    tick_every: dt.timedelta = field(default=dt.timedelta(seconds=5), metadata={"help": "How often the tick is made."})
    celery_tick: bool = field(
        default=True,
        metadata={"help": "Every Celery worker ticks by itself. False if beat schedules `lifecycle.tick`."},
    )
    drain_seconds: float = field(
        default=20.0, metadata={"help": "How many seconds a drain goes on starting runs.", "minimum": 0}
    )
    drain_runs: int = field(default=500, metadata={"help": "How many runs a drain starts at most.", "minimum": 1})
    payload_limit: int = field(
        default=64 * 1024, metadata={"help": "Largest input, result or checkpoint, in bytes of JSON.", "minimum": 256}
    )
    follow_up_backoff: dt.timedelta = field(
        default=dt.timedelta(minutes=1),
        metadata={"help": "Pause after the first refusal of a follow-up. It doubles with each further one."},
    )
    follow_up_maximum: dt.timedelta = field(
        default=dt.timedelta(hours=1), metadata={"help": "Longest pause between two tries of a follow-up."}
    )
    follow_up_tries: int = field(
        default=10, metadata={"help": "A follow-up is abandoned after this many refusals.", "minimum": 1}
    )
    hold_backoff: dt.timedelta = field(
        default=dt.timedelta(minutes=1),
        metadata={"help": "Pause after the first refusal of a timeout or deadline. It doubles with each further one."},
    )
    hold_maximum: dt.timedelta = field(
        default=dt.timedelta(hours=1),
        metadata={"help": "Longest pause between two tries of a refused timeout or deadline."},
    )
    retain_succeeded: dt.timedelta | None = field(
        default=dt.timedelta(days=7),
        metadata={"help": "How long succeeded and cancelled runs are kept; None: for ever."},
    )
    retain_failed: dt.timedelta | None = field(
        default=dt.timedelta(days=90), metadata={"help": "How long failed and dead runs are kept; None: for ever."}
    )
    publish_timeout: float = field(
        default=0.5,
        metadata={
            "help": "How many seconds a broker that does not answer may delay a request after its commit.",
            "minimum": 0.01,
        },
    )
    breaker_maximum: float = field(
        default=10.0,
        metadata={"help": "Longest pause, in seconds, before a failing broker is tried again.", "minimum": 0},
    )
    request_actor: str | None = field(
        default=None,
        metadata={
            "help": "Dotted path of the function that makes a request's actor, in the admin and over REST "
            "(see `acting_as`). None: the request's user."
        },
    )
    redact: tuple[str, ...] = field(
        default=("password", "passwd", "secret", "token", "authorization", "api_key", "apikey"),
        metadata={"help": "Names whose values are removed from stored error texts."},
    )


@lru_cache(maxsize=1)
def options() -> Options:
    """The project's options.

    Raises:
        InvalidSettings: unknown keys or wrong values, all of them at once.
    """
    return read(getattr(settings, NAME, {}))


def read(given: Any) -> Options:
    """Validates a ``LIFECYCLE`` value and completes it with the defaults."""
    if not isinstance(given, Mapping):
        raise InvalidSettings(f"settings.{NAME}: expected a dict, got {given!r}.")
    types_ = typing.get_type_hints(Options)
    fields = {f.name.upper(): f for f in dataclasses.fields(Options)}
    problems: list[InputProblem] = []
    values: dict[str, Any] = {}
    for key, value in given.items():
        known = fields.get(key)
        if known is None:
            problems.append(_problem(str(key), "unknown", f"unknown setting. {did_you_mean(key, fields)}"))
            continue
        complaint = _complaint(types_[known.name], value, known.metadata.get("minimum"))
        if complaint:
            problems.append(_problem(key, "invalid", complaint))
        values[known.name] = tuple(value) if isinstance(value, list) else value
    if problems:
        raise InvalidSettings(f"settings.{NAME}: " + " ".join(str(p) for p in problems), problems=problems)
    return Options(**values)


def _problem(key: str, code: str, message: str) -> InputProblem:
    return InputProblem(field=key, code=code, message=message)


def _complaint(wanted: Any, value: Any, minimum: Any) -> str | None:
    origin = typing.get_origin(wanted)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in typing.get_args(wanted):
            return None
        return _complaint(typing.get_args(wanted)[0], value, minimum)
    if wanted is dt.timedelta:
        if not isinstance(value, dt.timedelta):
            return f"expected a datetime.timedelta, got {value!r}."
        if minimum is not None and value < minimum:
            return f"expected {minimum} or more, got {value!r}."
        if value > LONGEST:
            return f"expected at most {LONGEST.days} days, got {value!r}."
        return None if value > dt.timedelta(0) else f"expected a duration longer than zero, got {value!r}."
    if wanted is bool:
        return None if isinstance(value, bool) else f"expected True or False, got {value!r}."
    if wanted in (int, float):
        allowed = (int,) if wanted is int else (int, float)
        if isinstance(value, bool) or not isinstance(value, allowed):
            return f"expected a number ({wanted.__name__}), got {value!r}."
        return f"expected {minimum} or more, got {value!r}." if minimum is not None and value < minimum else None
    if wanted is str:
        return None if isinstance(value, str) and value else f"expected a dotted path, got {value!r}."
    if origin is tuple:
        good = isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
        return None if good else f"expected a list of strings, got {value!r}."
    good = isinstance(value, Mapping) and all(isinstance(x, str) for pair in value.items() for x in pair)
    return None if good else f"expected a dict of strings, got {value!r}."


def _forget(*, setting: str, **kwargs: Any) -> None:
    if setting == NAME:
        options.cache_clear()


setting_changed.connect(_forget, dispatch_uid="lifecycle.conf")
