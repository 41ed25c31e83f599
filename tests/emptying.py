"""Emptying: how the tables are cleared on PostgreSQL after a test that really committed.

Django truncates them all, which makes and drops a file per table and index: up to seconds on a busy disk, for tables
that hold a few rows. Deleting the rows takes milliseconds. Tables that grew large are truncated all the same, so that
no test works on what another one left behind in their files.
"""

from __future__ import annotations

from typing import Any

LARGE = 1_000_000  # bytes


def install() -> None:
    """From now on in this process; only PostgreSQL's way is changed."""
    from django.db.backends.postgresql.operations import DatabaseOperations

    DatabaseOperations.sql_flush = sql_flush  # type: ignore[method-assign]


def sql_flush(
    self: Any, style: Any, tables: list[str], *, reset_sequences: bool = False, allow_cascade: bool = False
) -> list[str]:
    """One string of statements; foreign keys are deferred to the end of the transaction that Django runs it in."""
    with self.connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relkind = 'r' AND pg_relation_size(oid) > %s",
            [list(tables), LARGE],
        )
        large = {name for (name,) in cursor.fetchall()}
    statements = [f"DELETE FROM {self.quote_name(table)};" for table in tables if table not in large]
    if large:
        named = ", ".join(self.quote_name(table) for table in sorted(large))
        statements.insert(0, f"TRUNCATE {named} CASCADE;")
    return [" ".join(statements)] if statements else []
