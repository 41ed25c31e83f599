"""Emptying: how the tables are cleared after a test that really committed.

Django flushes them all, which on PostgreSQL makes and drops a file per table and index, and then announces a migration:
every content type, permission and trigger is looked up again, half a second after each such test. To delete the rows of
the tables that have any takes milliseconds; content types and permissions are not a test's and stay. Tables that grew
large are truncated all the same, so that no test works on what another one left behind in their files.
"""

from __future__ import annotations

from typing import Any

from django.db import connections, transaction
from django.test import TransactionTestCase

LARGE = 1_000_000  # bytes
# Written by migrations, not by tests.
KEPT = {"django_migrations", "django_content_type", "auth_permission"}


def install() -> None:
    """From now on in this process."""
    TransactionTestCase._fixture_teardown = _fixture_teardown  # type: ignore[method-assign]


def _fixture_teardown(self: Any) -> None:
    for using in self._databases_names(include_mirrors=False):
        empty(using)


def empty(using: str) -> None:
    """Deletes what every table but those of migrations holds, in one transaction."""
    connection = connections[using]
    tables = [table for table in connection.introspection.django_table_names(only_existing=True) if table not in KEPT]
    with connection.cursor() as cursor:
        filled = _filled(connection, cursor, tables)
    if not filled:
        return
    with connection.constraint_checks_disabled(), transaction.atomic(using=using), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            filled = _truncated(connection, cursor, filled)
        for table in filled:
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")


def _filled(connection: Any, cursor: Any, tables: list[str]) -> list[str]:
    """The tables that hold rows; SQLite allows 500 parts of a union."""
    if not tables:
        return []
    quote = connection.ops.quote_name
    parts = [f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {quote(table)})" for table in tables]
    if connection.vendor == "mysql":
        parts = [f"SELECT '{table}' FROM DUAL WHERE EXISTS (SELECT 1 FROM {quote(table)})" for table in tables]
    cursor.execute(" UNION ALL ".join(parts))
    return [table for (table,) in cursor.fetchall()]


def _truncated(connection: Any, cursor: Any, filled: list[str]) -> list[str]:
    """Truncates what grew large; answers what is left to delete."""
    cursor.execute(
        "SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relkind = 'r' AND pg_relation_size(oid) > %s",
        [filled, LARGE],
    )
    large = {name for (name,) in cursor.fetchall()}
    if large:
        cursor.execute(f"TRUNCATE {', '.join(connection.ops.quote_name(table) for table in sorted(large))} CASCADE")
    return [table for table in filled if table not in large]
