"""Dispatch: after a commit, wake a worker; needed not for work to get done, only for it to start at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, TypeVar

from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from lifecycle import conf
from lifecycle.dispatch.contract import Dispatcher
from lifecycle.exceptions import InvalidSettings

__all__ = ["Dispatcher", "chosen", "complaint", "current", "publish", "replaced"]

CELERY = "lifecycle.dispatch.celery.CeleryDispatcher"
NONE = "lifecycle.dispatch.none.NoDispatcher"

Replacement = TypeVar("Replacement", bound=Dispatcher)

# What tests put in place of the configured one; a list, so that it is one object whoever imported it.
_replacements: list[Dispatcher] = []


def current() -> Dispatcher:
    """The process's dispatcher: the one the settings name, built once (its connections and its breaker live there)."""
    return _replacements[-1] if _replacements else _configured()


def publish(queue: str) -> bool:
    """Wakes one worker for a queue; False when it could not be done now. Never raises, never blocks for long."""
    return current().publish(queue)


def complaint() -> str | None:
    """Why nobody can be woken at this moment, or None; asks the broker, whatever the breaker says.

    A dispatcher that has nothing to ask (`NoDispatcher`, a project's own) needs no ``complaint`` of its own.
    """
    asked = getattr(current(), "complaint", None)
    answer: str | None = asked() if asked is not None else None
    return answer


@contextmanager
def replaced(dispatcher: Replacement) -> Iterator[Replacement]:
    """While open, this dispatcher is the process's (tests)."""
    _replacements.append(dispatcher)
    try:
        yield dispatcher
    finally:
        _replacements.remove(dispatcher)


def chosen() -> str:
    """The path of the dispatcher that rules: the setting's, else Celery's where Celery is installed, else none."""
    configured = conf.options().dispatcher
    if configured is not None:
        return configured
    # Asked for, not imported: a web process should not load Celery before it has something to publish.
    return CELERY if find_spec("celery") is not None else NONE


@lru_cache(maxsize=1)
def _configured() -> Dispatcher:
    path = chosen()
    try:
        cls = import_string(path)
    except ImportError as error:
        raise InvalidSettings(f"LIFECYCLE['DISPATCHER']: cannot import '{path}': {error}.") from error
    if not isinstance(cls, type) or not callable(getattr(cls, "publish", None)):
        raise InvalidSettings(f"LIFECYCLE['DISPATCHER']: '{path}' is no class with publish(queue).")
    made: Dispatcher = cls()
    return made


def _forget(*, setting: str, **kwargs: Any) -> None:
    if setting == conf.NAME:
        _configured.cache_clear()


setting_changed.connect(_forget, dispatch_uid="lifecycle.dispatch")
