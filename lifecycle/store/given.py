"""Given: what of a new record its caller decided, so that a repeated creation can be told from another one."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from django.db import models
from django.db.models.expressions import DatabaseDefault
from django.db.models.fields import NOT_PROVIDED


def values(record: Any, *, without: Collection[str]) -> dict[str, Any]:
    """The columns that a repeat must agree in, as text or JSON.

    Left out is what each instance makes up afresh: keys and timestamps of the database's or the model's own making.

    Args:
        without: names of further fields to leave out.
    """
    return {
        field.attname: _as_text(field, record)
        for field in record._meta.concrete_fields
        if field.name not in without and not _comes_by_itself(field) and not _is_made_up(field)
    }


def _as_text(field: Any, record: Any) -> Any:
    value = getattr(record, field.attname)
    if isinstance(value, DatabaseDefault):
        return None  # left to the database
    # An expression has no value yet, but the same words for the same.
    return repr(value) if hasattr(value, "resolve_expression") else field.value_to_string(record)


def _comes_by_itself(field: Any) -> bool:
    automatic = getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False)
    link = field.remote_field is not None and getattr(field.remote_field, "parent_link", False)
    return bool(automatic or link or field.generated or isinstance(field, models.AutoField))


@cache
def _is_made_up(field: Any) -> bool:
    """Whether a column's default is another one for each instance (a token, a moment), so that a repeat differs in it.

    It is asked twice, once per process. Two equal days say nothing: the repeat may come after midnight.
    """
    if field.default is NOT_PROVIDED or not callable(field.default):
        return False
    return isinstance(field, models.DateField) or bool(field.get_default() != field.get_default())
