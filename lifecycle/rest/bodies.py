"""Body: a request's body and headers, read field by field; every problem is reported at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import QueryDict
from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from lifecycle.exceptions import InvalidInput
from lifecycle.models import TransitionLog
from lifecycle.refusals import InputProblem
from lifecycle.rest.exceptions import BodyTooLarge
from lifecycle.suggest import did_you_mean

_MAX_VERSION = 2**63 - 1
_ENTITY_TAG = re.compile(r'\s*(?:W/)?"(?:v(\d{1,19})-[^"]*|(\d{1,19}))"\s*$|\s*(\d{1,19})\s*$')
_MAX_DEPTH = 100


def read_data(request: Request) -> Any:
    """The parsed body. Whatever a parser chokes on is the request's fault, never a 500."""
    try:
        return request.data
    except RecursionError:
        raise too_deep() from None


def too_deep() -> ParseError:
    """The error that a body is nested deeper than a parser can follow."""
    return ParseError(_("The body is nested too deeply."))


def limit_size(request: Request, limit: int | None = None) -> None:
    """Refuses a body by its declared length, before a byte of it is parsed.

    Args:
        limit: in bytes. Django's ``DATA_UPLOAD_MAX_MEMORY_SIZE``, which not every parser heeds, counts besides.

    Raises:
        BodyTooLarge: it says it is larger.
    """
    files = (request.content_type or "").startswith("multipart/")  # measured by Django, file by file
    limits = [one for one in (limit, None if files else settings.DATA_UPLOAD_MAX_MEMORY_SIZE) if one is not None]
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if limits and declared.isdigit() and int(declared) > min(limits):
        raise BodyTooLarge(min(limits))


def in_our_words(error: Exception) -> Exception:
    """What Django finds suspicious about a body (too large, thousands of fields), as an error that DRF answers."""
    if isinstance(error, RequestDataTooBig):
        return BodyTooLarge(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0)
    if isinstance(error, (TooManyFieldsSent, TooManyFilesSent)):
        return ParseError(_("The body has too many fields."))
    return error


class Body:
    """A request's body and headers, read field by field; every problem is kept until `finish`."""

    def __init__(
        self,
        request: Request,
        *,
        known: Iterable[str],
        ignored: Iterable[str] = (),
        forbidden: Iterable[str] = (),
    ) -> None:
        self.request = request
        self.problems: list[InputProblem] = []
        data = read_data(request)
        self.form = isinstance(data, QueryDict)
        if not isinstance(data, Mapping):
            kind = "list" if isinstance(data, list) else type(data).__name__
            self._problem("", "not_an_object", _("Expected a JSON object, got a %(kind)s.") % {"kind": kind})
            self.finish()
        self.data: Any = data
        self._keys(set(known), set(ignored), set(forbidden))
        self._characters()

    def text(self, name: str, *, required: bool = False, longest: int | None = None) -> str | None:
        """A string; null counts as absent."""
        value = self._value(name)
        if value is None or (value == "" and required):
            if required:
                self._problem(name, "required", _("This field is required."))
            return None
        if not isinstance(value, str):
            self._wrong(name, "a string", value)
            return None
        if longest is not None and len(value) > longest:
            self._problem(name, "too_long", _("At most %(longest)d characters.") % {"longest": longest})
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object; null counts as empty. In a form it is JSON text."""
        value = self._value(name)
        if value is None or (self.form and value == ""):
            return {}
        if self.form and isinstance(value, str):
            try:
                value = json.loads(value, parse_constant=_no_constant)
            except (ValueError, RecursionError):
                self._problem(name, "invalid", _("Expected a JSON object as text."))
                return {}
        if not isinstance(value, Mapping):
            self._wrong(name, "an object", value)
            return {}
        return value

    def flag(self, name: str) -> bool:
        """A boolean; null counts as false. In a form, the words of HTML forms."""
        value = self._value(name)
        if self.form and isinstance(value, str):
            value = {"true": True, "on": True, "1": True, "false": False, "": False, "0": False}.get(value, value)
        if value is None or isinstance(value, bool):
            return bool(value)
        self._wrong(name, "true or false", value)
        return False

    def version(self, name: str) -> int | None:
        """A record's version; null counts as absent."""
        value = self._value(name)
        if self.form and isinstance(value, str):
            value = int(value) if re.fullmatch(r"\d{1,19}", value) else value or None
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_VERSION:
            self._wrong(name, "a version (a whole number, 0 or more)", value)
            return None
        return value

    def request_id(self, name: str) -> str | None:
        """The caller's own key."""
        value = self.text(name)
        return None if value is None else self._key(name, value)

    def key_header(self) -> str | None:
        """``Idempotency-Key``: bare, or in quotes as the draft standard writes it."""
        value = self.request.headers.get("Idempotency-Key")
        if value is None:
            return None
        value = value.strip()
        if len(value) >= 2 and value[0] == value[-1] == '"':
            value = value[1:-1]
        return self._key("Idempotency-Key", value)

    def version_header(self) -> int | None:
        """``If-Match``: a version, bare or in quotes, or the ``ETag`` of a view; ``*`` expects nothing."""
        value = self.request.headers.get("If-Match")
        if value is None or value.strip() == "*":
            return None
        found = _ENTITY_TAG.match(value)
        version = int(next(filter(None, found.groups()))) if found else None
        if version is None or version > _MAX_VERSION:
            self._problem(
                "If-Match", "invalid", _('Expected one version ("7"), the ETag of a view, or *; got %s.') % _cut(value)
            )
            return None
        return version

    def agree(self, name: str, value: Any, header: str, other: Any) -> Any:
        """What body and header say together; two different answers are a problem."""
        if value is not None and other is not None and value != other:
            self._problem(
                name,
                "contradiction",
                _("The body says %(body)s, the header %(header)s says %(other)s.")
                % {"body": _cut(value), "header": header, "other": _cut(other)},
            )
        return value if value is not None else other

    def finish(self) -> None:
        """Raises what is wrong, all at once."""
        if self.problems:
            raise InvalidInput("; ".join(str(problem) for problem in self.problems), problems=self.problems)

    def _keys(self, known: set[str], ignored: set[str], forbidden: set[str]) -> None:
        for key in self.data:
            if key in forbidden:
                self._problem(key, "owned", _("Only transitions write this column; leave it out."))
            elif key not in known and key not in ignored and not (self.form and key == "csrfmiddlewaretoken"):
                message = _("Unknown field.") + " " + did_you_mean(key, sorted(known))
                self._problem(_cut(key, quoted=False), "unknown_field", message)

    def _characters(self) -> None:
        # JSON can say what no database stores: "\u0000", and "\ud800", which is half a surrogate pair.
        if (where := _unstorable(self.data, "", 0)) is not None:
            path, message = where
            self._problem(path.removeprefix("input."), "invalid_characters", message)
            self.finish()

    def _value(self, name: str) -> Any:
        if self.form and len(self.data.getlist(name)) > 1:
            self._problem(name, "repeated", _("Given more than once."))
        return self.data.get(name)

    def _key(self, name: str, value: str) -> str | None:
        longest = length(TransitionLog, "request_id")
        if not value or len(value) > longest or value.startswith("$") or not value.isprintable():
            self._problem(
                name,
                "invalid_request_id",
                _("A request id has 1 to %(longest)d printable characters and does not start with $.")
                % {"longest": longest},
            )
            return None
        return value

    def _wrong(self, name: str, expected: str, value: Any) -> None:
        kind = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}.get(type(value), _cut(value))
        message = _("Expected %(expected)s, got %(kind)s.") % {"expected": expected, "kind": kind}
        self._problem(name, "invalid_type", message)

    def _problem(self, name: str, code: str, message: str) -> None:
        self.problems.append(InputProblem(field=name, code=code, message=message))


def length(model: Any, name: str) -> int:
    return int(model._meta.get_field(name).max_length)


def _no_constant(word: str) -> Any:
    raise ValueError(word)


def _cut(value: Any, *, quoted: bool = True) -> str:
    text = repr(value) if quoted else str(value).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= 80 else f"{text[:77]}..."


def _unstorable(value: Any, path: str, depth: int) -> tuple[str, str] | None:
    """Where in the body there is something no database takes, and what."""
    if depth > _MAX_DEPTH:
        return path.split(".", maxsplit=1)[0], _("Nested too deeply.")
    if isinstance(value, str):
        if "\x00" in value:
            return path, _("Contains a NUL character.")
        if any("\ud800" <= character <= "\udfff" for character in value):
            return path, _("Contains half a surrogate pair, which is no character.")
        return None
    if isinstance(value, Mapping):
        for key, inner in value.items():
            here = f"{path}.{_cut(key, quoted=False)}".lstrip(".")
            if (found := _unstorable(key, path or here, depth) or _unstorable(inner, here, depth + 1)) is not None:
                return found
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if (found := _unstorable(inner, f"{path}.{index}".lstrip("."), depth + 1)) is not None:
                return found
    return None
