"""Uniqueness: whether the values of a new record are free, on the database it will be inserted into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from django.db import models


@contextmanager
def looked_for_on(record: models.Model, using: str) -> Iterator[None]:
    """While open, ``record.validate_unique`` looks on this database.

    Django looks where the model is read by default, although relations and constraints are looked up where the
    instance says that it is.
    """

    def perform(checks: Iterable[tuple[Any, tuple[str, ...]]]) -> dict[str, list[Any]]:
        return _taken(record, checks, using)

    record.__dict__["_perform_unique_checks"] = perform
    try:
        yield
    finally:
        del record.__dict__["_perform_unique_checks"]


def _taken(record: Any, checks: Iterable[tuple[Any, tuple[str, ...]]], using: str) -> dict[str, list[Any]]:
    errors: dict[str, list[Any]] = {}
    for model, names in checks:
        values = {name: getattr(record, record._meta.get_field(name).attname) for name in names}
        if any(value is None or hasattr(value, "resolve_expression") for value in values.values()):
            continue  # NULL is never taken; what the database makes up is its own to refuse
        if model._default_manager.using(using).filter(**values).exists():
            place = names[0] if len(names) == 1 else NON_FIELD_ERRORS
            errors.setdefault(place, []).append(record.unique_error_message(model, names))
    return errors
