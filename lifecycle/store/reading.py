"""Reader: one row of one model by its key, through a SELECT that is compiled once.

A worker reads a record for every run. Building and compiling the same query anew costs several times what the database
needs to answer it.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections

_LARGEST = 2**63


def by_key(model: Any, pk: Any, using: str) -> Any:
    """The row as it is now, or None: what ``model._base_manager.using(using).filter(pk=pk).first()`` answers."""
    connection = connections[using]
    # On the connection: there is one per thread, and the converters of the columns belong to it.
    readers: dict[Any, Reader | None] = connection.__dict__.setdefault("_lifecycle_readers", {})
    if model not in readers:
        try:
            readers[model] = _compiled(model, pk, connection)
        except EmptyResultSet:  # a key that no row can have
            return None
    reader = readers[model]
    if reader is None:
        return next(iter(model._base_manager.using(using).filter(pk=pk)), None)
    return reader.read(pk)


def _compiled(model: Any, pk: Any, connection: Any) -> Reader | None:
    """The reader; None where the manager does more than to read the model's own columns by one key."""
    query = model._base_manager.using(connection.alias).filter(pk=pk).query
    compiler = query.get_compiler(connection=connection)
    sql, params = compiler.as_sql()
    plain = (
        len(params) == 1
        and not compiler.annotation_col_map
        and not compiler.klass_info.get("related_klass_infos")
        and len(compiler.klass_info["select_fields"]) == len(compiler.select)
        and not compiler.has_composite_fields([column for column, _, _ in compiler.select])
    )
    return Reader(model, sql, compiler) if plain else None


class Reader:
    """The compiled SELECT."""

    def __init__(self, model: Any, sql: str, compiler: Any) -> None:
        columns = [column for column, _, _ in compiler.select]
        self.model = model
        self.sql = sql
        self.compiler = compiler
        self.names = [column.target.attname for column in columns]
        self.converters = compiler.get_converters(columns)

    def read(self, pk: Any) -> Any:
        """The row of this key, or None."""
        if isinstance(pk, int) and not -_LARGEST <= pk < _LARGEST:
            return None
        connection = self.compiler.connection
        key = self.model._meta.pk.get_db_prep_value(pk, connection, prepared=False)
        with connection.cursor() as cursor:
            cursor.execute(self.sql, (key,))
            row = cursor.fetchone()
        if row is None:
            return None
        if self.converters:
            [row] = self.compiler.apply_converters([row], self.converters)
        return self.model.from_db(connection.alias, self.names, row)
