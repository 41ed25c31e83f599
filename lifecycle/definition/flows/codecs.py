"""Codec: typed payloads as JSON, and back; strict about plain types, by the library's one cattrs converter."""

from __future__ import annotations

import typing
from typing import Any

from lifecycle import payloads
from lifecycle.definition import parameters
from lifecycle.exceptions import InvalidPayload


def dump(value: Any, hint: Any, *, what: str, limit: int = payloads.DEFAULT_LIMIT) -> Any:
    """A value as the JSON that is stored.

    Args:
        value: what was given.
        hint: the type it is declared to have.
        what: how the error calls it ("input", "message", "output").

    Raises:
        InvalidPayload: it is no ``hint``, no JSON, or too large.
    """
    try:
        plain = parameters.dump(value)
    except Exception as error:  # cattrs raises what the type's own code raised
        raise _unfit(value, hint, what, error) from error
    stored = payloads.jsonable(plain, what=what, limit=limit)
    load(stored, hint, what=what)
    return stored


def load(stored: Any, hint: Any, *, what: str) -> Any:
    """The value that was stored.

    Raises:
        InvalidPayload: what is stored is no ``hint`` (any more).
    """
    if is_untyped(hint):
        return stored
    try:
        return parameters.converter().structure(stored, hint)
    except Exception as error:  # cattrs raises what the type's own code raised
        raise _unfit(stored, hint, what, error) from error


def is_untyped(hint: Any) -> bool:
    """Whether any JSON will do."""
    return hint is Any or hint is object or isinstance(hint, typing.TypeVar)


def _unfit(value: Any, hint: Any, what: str, error: Exception) -> InvalidPayload:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    name = getattr(hint, "__name__", None) or str(hint).replace("typing.", "")
    return InvalidPayload(f"The {what} is no {name}: {shown} ({type(error).__name__}: {error}).", path="$")
