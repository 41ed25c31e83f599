"""Permit: who may, for a moment, do what the owned columns refuse.

The runtime needs none while it updates: its permission is in the value it writes (`writes.Write`), so nothing is open
that a nested statement or another thread could use. What stands here is for creations, fixtures and emergencies.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django.db import models

from lifecycle.exceptions import InvalidInput
from lifecycle.models.layout import layout_of
from lifecycle.models.loaded import SLOT

logger = logging.getLogger("lifecycle.writes")

STARTING: Final = "_lifecycle_starting"

_creation: ContextVar[bool] = ContextVar("lifecycle_creation_in_any_state", default=False)
_bypass: ContextVar[str] = ContextVar("lifecycle_bypass", default="")
_raw: ContextVar[bool] = ContextVar("lifecycle_raw_save", default=False)


@contextmanager
def creation_in_any_state() -> Iterator[None]:
    """While open, records may be created in any state their field knows, with the version and time they bring.

    For tests, imports and copies between databases; updates stay refused. It follows ``sync_to_async`` and tasks
    created inside, not threads: open it narrowly.
    """
    token = _creation.set(True)
    try:
        yield
    finally:
        _creation.reset(token)


@contextmanager
def bypass(reason: str) -> Iterator[None]:
    """While open, the ORM writes owned columns as it writes any other: for data migrations and repairs.

    No entry is written, no effect is enqueued, no guard is asked. The opening is logged as a warning with its reason on
    ``lifecycle.writes``. States the field does not know stay refused.

    Args:
        reason: why; for whoever reads the log later. Empty is an `InvalidInput`.
    """
    if not (reason or "").strip():
        raise InvalidInput("bypass() needs a reason: say why the lifecycle is gone round, for whoever reads the log.")
    logger.warning("Owned columns may be written past their lifecycle: %s", reason)
    token = _bypass.set(reason)
    try:
        yield
    finally:
        _bypass.reset(token)


@contextmanager
def starting_with(instance: models.Model, values: Mapping[str, Any]) -> Iterator[None]:
    """While open, the insert of exactly this instance begins its owned columns with exactly these values.

    Args:
        instance: the record about to be inserted.
        values: by attname; owned columns that are not named begin as for everybody else.

    If the block raises, the owned columns of the instance, and what is known of its row, are put back as they were.
    """
    held = instance.__dict__
    names = [column.attname for column in layout_of(type(instance)).owned]
    before = {name: held[name] for name in (*names, SLOT) if name in held}
    held[STARTING] = dict(values)
    try:
        yield
    except BaseException:
        held.pop(SLOT, None)
        held.update(before)
        raise
    finally:
        held.pop(STARTING, None)


@contextmanager
def raw_save() -> Iterator[None]:
    """Opened by `LifecycleModel` around one raw save: fixtures write what they contain."""
    token = _raw.set(True)
    try:
        yield
    finally:
        _raw.reset(token)


def creation_is_free() -> bool:
    return _creation.get() or bool(_bypass.get())


def is_bypassed() -> bool:
    return bool(_bypass.get())


def is_raw() -> bool:
    return _raw.get()
