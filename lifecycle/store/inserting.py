"""Insertion: one row of a table of ours by SQL that is made once — a third of the ORM's time on the hottest write."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from django.db import connections
from django.db.models import Model

_Row = TypeVar("_Row", bound=Model)


@cache
def _statement(model: type[Model], alias: str) -> tuple[str, tuple[Any, ...], bool]:
    connection = connections[alias]
    fields = tuple(field for field in model._meta.concrete_fields if not field.primary_key)
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    returns = connection.features.can_return_columns_from_insert
    key = quote(str(model._meta.pk.column))
    ending = f" RETURNING {key}" if returns else ""
    # Names only, all of them from the model; every value is a parameter.
    return f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places}){ending}", fields, returns  # noqa: S608


def insert(row: Model, using: str) -> None:
    """Inserts a row whose key the database makes, and gives the instance its key.

    For tables of ours without defaults that a database computes: no signal is sent, no field is read back.
    """
    connection = connections[using]
    text, fields, returns = _statement(type(row), using)
    values = [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        row.pk = cursor.fetchone()[0] if returns else connection.ops.last_insert_id(cursor, row._meta.db_table, "id")
    row._state.adding = False
    row._state.db = using


def insert_many(rows: Sequence[_Row], using: str) -> list[_Row]:
    """Inserts the rows of a batch, and gives each instance its key: in one statement where it returns all the keys.

    MySQL returns none of them, and what refers to a row without its key is refused: there it is one statement a row.
    """
    if len(rows) > 1 and connections[using].features.can_return_rows_from_bulk_insert:
        return list(type(rows[0])._base_manager.using(using).bulk_create(rows))
    for row in rows:
        insert(row, using)
    return list(rows)
