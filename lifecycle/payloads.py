"""Payload: JSON data that is stored — inputs, results, checkpoints — checked, measured, hashed, redacted."""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
import json
import math
import re
import uuid
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Any

from lifecycle.exceptions import InvalidPayload

# What a caller hands in, rather than an effect answers. Records in it stand for their keys.
GIVEN = ("input",)
REDACTED = "[redacted]"
DEFAULT_LIMIT = 64 * 1024  # bytes
_MAX_DEPTH = 30  # MariaDB keeps no JSON deeper than 32


def jsonable(value: Any, *, what: str = "payload", limit: int = DEFAULT_LIMIT) -> Any:
    """The value as plain JSON data (dict, list, str, int, float, bool, None).

    Dates, times, durations, decimals, UUIDs, enums and lazy strings become what Django's JSON encoder makes of them.

    Args:
        value: what to store.
        what: how the error calls it ("input", "result", "checkpoint").
        limit: the largest size of the JSON text, in bytes.

    Raises:
        InvalidPayload: something inside is not JSON (``path`` names it), or the whole is larger than the limit.
    """
    plain = _plain(value, "$", what, 0)
    size = len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    if size > limit:
        raise InvalidPayload(
            f"The {what} is {size} bytes of JSON, more than the {limit} allowed. Store large data in your own table "
            f"and pass its id{_largest(plain)}.",
            path="$",
            size=size,
            limit=limit,
        )
    return plain


def _plain(value: Any, path: str, what: str, depth: int) -> Any:  # noqa: C901 a line per kind of value
    if value is None or value is True or value is False:
        return value
    if isinstance(value, Enum):
        return _plain(value.value, path, what, depth)
    if isinstance(value, str):
        _refuse_unstorable(value, path, what, "a string")
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _bad(path, what, f"{value!r}, which JSON has no word for")
        return float(value)
    if depth >= _MAX_DEPTH:
        raise _bad(path, what, f"nesting deeper than {_MAX_DEPTH} levels, or a value that contains itself")
    if isinstance(value, Mapping):
        return {_key(k, path, what): _plain(v, f"{path}.{k}", what, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v, f"{path}[{i}]", what, depth + 1) for i, v in enumerate(value)]
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        from django.utils.duration import duration_iso_string

        return duration_iso_string(value)
    if isinstance(value, (decimal.Decimal, uuid.UUID)) or type(value).__name__ == "__proxy__":
        return str(value)
    if what in GIVEN and hasattr(value, "_meta") and getattr(value, "pk", None) is not None:
        return _plain(value.pk, path, what, depth)
    raise _bad(path, what, f"{type(value).__name__} ({_short(value)})")


def _key(key: Any, path: str, what: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if not isinstance(key, str):
        raise _bad(path, what, f"the key {_short(key)}; JSON keys are strings")
    _refuse_unstorable(key, path, what, "a key")
    return str(key)


def unstorable(text: str) -> str | None:
    """What is in a text that databases refuse, as the end of a sentence; None when they take it."""
    if "\x00" in text:
        return "a NUL character, which databases refuse"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return "half a surrogate pair, which databases refuse"
    return None


def _refuse_unstorable(text: str, path: str, what: str, kind: str) -> None:
    if (found := unstorable(text)) is not None:
        raise _bad(path, what, f"{kind} with {found}")


def _bad(path: str, what: str, found: str) -> InvalidPayload:
    return InvalidPayload(
        f"The {what} must be JSON: at {path} there is {found}. "
        f"{'Give' if what in GIVEN else 'Return'} dicts, lists, strings, numbers, booleans or None.",
        path=path,
    )


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 a broken __repr__ must not hide what is wrong with the payload
        text = f"unprintable, {type(error).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _largest(plain: Any) -> str:
    if not isinstance(plain, dict) or not plain:
        return ""
    key = max(plain, key=lambda k: len(json.dumps(plain[k])))
    return f" (the largest part is $.{key})"


def digest(*parts: Any) -> str:
    """A short stable fingerprint (32 hex digits) of JSON data, independent of the order of keys."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def redacted(value: Mapping[str, Any], secrets: Collection[str]) -> dict[str, Any]:
    """The mapping with the values of the secret keys replaced by ``[redacted]``."""
    return {key: REDACTED if key in secrets else item for key, item in value.items()}


def error_text(error: BaseException | str, *, limit: int = 2000, secrets: Iterable[str] = ()) -> str:
    """An exception's text as any database will take it: printable, without NUL, cut, secrets replaced.

    Never raises: an exception whose ``__str__`` fails is named by its type.
    """
    if isinstance(error, str):
        text = error
    else:
        name = type(error).__name__
        try:
            said = str(error)
        except Exception as broken:  # noqa: BLE001 whatever an exception's __str__ does, the failure is still recorded
            said = f"<its text cannot be read: {type(broken).__name__}>"
        text = f"{name}: {said}" if said else name
    text = text[: limit * 4]
    text = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")
    for key in secrets:
        text = re.sub(rf"(?i)({re.escape(key)}[\"']?\s*[=:]\s*)([\"']?)[^\s\"',;&]+", rf"\1\2{REDACTED}", text)
    return text if len(text) <= limit else f"{text[: limit - 20]}… (cut, {len(text)} characters)"[:limit]
