"""The database's time: one clock for leases, due times and history."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Now

from lifecycle import clock

# STATEMENT time rather than the transaction's: a long transaction must not write old times (P21).
_SELECT = {
    "postgresql": "SELECT statement_timestamp()",
    "mysql": "SELECT UTC_TIMESTAMP(6)",
}


def now(using: str) -> dt.datetime:
    """What time it is for rows of this database: the test's clock if replaced, else the database's own.

    SQLite has only milliseconds and runs on this host: there it is the application's clock.
    """
    replaced = clock.overridden()
    if replaced is not None:
        return replaced
    connection = connections[using]
    text = _SELECT.get(connection.vendor)
    if text is None:
        return clock.now()
    with connection.cursor() as cursor:
        cursor.execute(text)
        value: dt.datetime = cursor.fetchone()[0]
    return value if value.tzinfo else value.replace(tzinfo=dt.UTC)


class UtcNow(Now):
    """`Now`, in UTC: MySQL's and MariaDB's own counts in the session's time zone, while Django stores and reads UTC."""

    def as_mysql(self, compiler: Any, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="UTC_TIMESTAMP(6)", **context)


def in_statement(using: str) -> Now | None:
    """The expression that reads the database's clock inside a SELECT, or None where the application's clock rules."""
    if clock.overridden() is not None or connections[using].vendor == "sqlite":
        return None
    return UtcNow()


# The SQL half: for statements written by hand ----------------------------------------------------

_SQL = {
    "postgresql": "clock_timestamp()",
    "mysql": "UTC_TIMESTAMP(6)",
}


def sql_now(connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
    """The present moment as SQL and its parameters: the database's clock, or a value where the application's rules.

    On PostgreSQL it is the clock itself (P21): a lease counted from the start of a long transaction is old when it
    begins. It is volatile there; to compare it with an indexed column, read it once:
    ``column <= (SELECT clock_timestamp())``.
    """
    if clock.overridden() is None and connection.vendor in _SQL:
        return _SQL[connection.vendor], ()
    return moment(connection, clock.now())


def moment(connection: BaseDatabaseWrapper, value: dt.datetime) -> tuple[str, tuple[Any, ...]]:
    """A moment as SQL and its parameters, in the form this database stores."""
    if connection.vendor == "postgresql":
        return "%s::timestamptz", (value,)
    return "%s", (as_text(value),)


def as_text(value: dt.datetime) -> str:
    """A moment as text databases store it: UTC, always with six digits, so that text order is the order of time.

    Django leaves the digits out when they are all zero; such a shorter text sorts just before the same moment written
    in full, never beyond a neighbouring microsecond.
    """
    return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def shortest_text(value: dt.datetime) -> str:
    """The same moment as Django writes it: for lower bounds on SQLite, which must admit either form."""
    return str(value.astimezone(dt.UTC).replace(tzinfo=None))


def from_database(value: Any) -> dt.datetime | None:
    """What a cursor answered for a datetime column, as an aware UTC datetime."""
    if value is None:
        return None
    moment: dt.datetime = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)


def approximately(using: str) -> dt.datetime:
    """The time for a preview that may cost no statement: the application's clock."""
    return clock.now()
