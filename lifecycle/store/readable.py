"""Readable: whether a column of this database gives back what is put into it.

What a database takes and its driver cannot read again (a moment beyond the calendar, an infinite number) breaks every
later look at the row: lists, pages, and the sweeps that fire its timeouts. So a value is judged before it is written.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import uuid
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connections, models
from django.utils import timezone
from django.utils.translation import gettext as _

# Every database keeps a duration as microseconds in eight bytes, or could.
_LONGEST = dt.timedelta(microseconds=2**63 - 1)
# PostgreSQL reads no larger offset; the largest in use is 14 hours.
_LARGEST_OFFSET = dt.timedelta(hours=15, minutes=59)
_DEEPEST = 100
_DEEPEST_OF_MARIADB = 30
# What a column's own cleaning answers.
_KINDS: tuple[tuple[type[models.Field[Any, Any]], tuple[type, ...]], ...] = (
    (models.DateTimeField, (dt.datetime,)),
    (models.DateField, (dt.date,)),
    (models.TimeField, (dt.time,)),
    (models.DurationField, (dt.timedelta,)),
    (models.DecimalField, (Decimal, int, float)),
    (models.FloatField, (int, float)),
    (models.BooleanField, (bool, int)),
    (models.IntegerField, (int,)),
    (models.UUIDField, (uuid.UUID,)),
    (models.BinaryField, (bytes, bytearray, memoryview)),
)


def complaint(field: models.Field[Any, Any], value: Any, using: str) -> str | None:
    """Why a column could not give a cleaned value back; None when it can.

    Args:
        field: the column.
        value: what the field's own cleaning answered.
        using: the database it goes to.

    Returns:
        A sentence for people, in their language.
    """
    if value is None or hasattr(value, "resolve_expression"):
        return None
    return (
        _about_kind(field, value, using)
        or complaint_about(value)
        or _about_number(field, value, using)
        or (_about_json(field, value, using) if isinstance(field, models.JSONField) else None)
        or _about_writing(field, value, using)
    )


def as_kept(field: models.Field[Any, Any], value: Any) -> Any:
    """A cleaned value as its column would give it back, so that the record shows what its row has."""
    if isinstance(value, dt.datetime) and settings.USE_TZ and timezone.is_naive(value):
        return timezone.make_aware(value, timezone.get_default_timezone())
    if isinstance(field, models.GenericIPAddressField) and value == "":
        return None
    if hasattr(field, "range_type"):
        return _range_as_kept(field, value) if isinstance(value, field.range_type) else value
    if hasattr(field, "base_field") and isinstance(value, list):
        return [as_kept(field.base_field, one) for one in value]
    return value


def _range_as_kept(field: Any, value: Any) -> Any:
    lower, upper = as_kept(field.base_field, value.lower), as_kept(field.base_field, value.upper)
    if _is_hollow(value):
        return field.range_type(empty=True)
    return value if (lower, upper) == (value.lower, value.upper) else field.range_type(lower, upper, value.bounds)


def _is_hollow(span: Any) -> bool:
    """Whether nothing is between the bounds of a range, which PostgreSQL keeps as the empty one."""
    return span.lower is not None and span.lower == span.upper and not (span.lower_inc and span.upper_inc)


def _about_kind(field: Any, value: Any, using: str) -> str | None:
    """The value's own type: Django cleans no empty text, list or dict, whatever the column is made for."""
    if hasattr(field, "range_type"):
        return _about_range(field, value, using) if isinstance(value, field.range_type) else _("Expected a range.")
    if hasattr(field, "base_field"):
        return _about_parts(field, value, using) if isinstance(value, (list, tuple)) else _("Expected a list.")
    if isinstance(field, models.JSONField) or not type(field).__module__.startswith("django.db.models.fields"):
        return None
    kinds = next((kinds for cls, kinds in _KINDS if isinstance(field, cls)), None)
    single = not isinstance(value, (list, tuple, dict, set))
    fits = single if kinds is None else isinstance(value, kinds)
    return None if fits else _("This value is not of the column's kind.")


def _about_range(field: Any, value: Any, using: str) -> str | None:
    found = _about_parts(field, (value.lower, value.upper), using)
    if found is not None or value.lower is None or value.upper is None:
        return found
    try:
        return _("The range ends before it begins.") if value.upper < value.lower else None
    except TypeError:  # a moment with a zone and one without
        return None


def _about_parts(field: Any, parts: Iterable[Any], using: str) -> str | None:
    return next((found for one in parts if (found := complaint(field.base_field, one, using))), None)


def complaint_about(value: Any, depth: int = 0) -> str | None:
    """The same for a value whose column nobody knows: what a form has cleaned, or what stands inside a list."""
    if depth > _DEEPEST:
        return _("It is nested too deeply.")
    if isinstance(value, str):
        return _about_text(value)
    if isinstance(value, (float, Decimal)):
        return None if math.isfinite(value) else _("Expected a finite number.")
    if isinstance(value, dt.datetime):
        return _about_moment(value)
    if isinstance(value, dt.timedelta):
        return None if abs(value) <= _LONGEST else _("This duration is longer than a database can keep.")
    for inner in _inside(value):
        if (found := complaint_about(inner, depth + 1)) is not None:
            return found
    return None


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [part for item in value.items() for part in item]
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if hasattr(value, "lower") and hasattr(value, "upper") and hasattr(value, "bounds"):
        return (value.lower, value.upper)  # a range
    return ()


def _about_text(value: str) -> str | None:
    if "\x00" in value:
        return _("It contains a NUL character, which no database keeps.")
    try:
        value.encode()
    except UnicodeEncodeError:
        return _("It contains half a surrogate pair, which is no character.")
    return None


def _about_moment(value: dt.datetime) -> str | None:
    offset = value.utcoffset()
    if offset is None:
        return None
    if abs(offset) > _LARGEST_OFFSET:
        return _("No time zone is so far from UTC.")
    try:
        # Stored in UTC, shown in the project's zone.
        value.astimezone(dt.UTC).astimezone(timezone.get_default_timezone())
    except OverflowError:
        return _("This moment is outside the calendar.")
    return None


def _about_number(field: models.Field[Any, Any], value: Any, using: str) -> str | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    column: Any = field
    while column.remote_field is not None:
        column = column.target_field
    if not isinstance(column, models.IntegerField):
        return None
    smallest, largest = connections[using].ops.integer_field_range(column.get_internal_type())
    if (smallest is not None and value < smallest) or (largest is not None and value > largest):
        return _("Expected a whole number from %(smallest)s to %(largest)s.") % {
            "smallest": smallest,
            "largest": largest,
        }
    return None


def _about_json(field: Any, value: Any, using: str) -> str | None:
    if connections[using].vendor == "mysql" and (found := complaint_about(value, _DEEPEST - _DEEPEST_OF_MARIADB)):
        return found
    try:
        json.loads(json.dumps(value, cls=field.encoder, allow_nan=False))
    except RecursionError:
        return _("It is nested too deeply.")
    except (TypeError, ValueError, OverflowError):
        return _("Expected what JSON can say: text, finite numbers, true, false, null, lists and objects.")
    return None


def _about_writing(field: models.Field[Any, Any], value: Any, using: str) -> str | None:
    """The field's own last word: the form in which it would be sent."""
    try:
        field.get_db_prep_save(value, connections[using])
    except ValidationError as error:
        return " ".join(error.messages)
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return _("This value cannot be stored.")
    return None
