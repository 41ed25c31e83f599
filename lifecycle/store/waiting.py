"""Waiting: how long a worker's transaction may wait for somebody else's lock, and how it learns that it was in vain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import Error, connections

# PostgreSQL: lock not available. MySQL, MariaDB: lock wait timeout.
_STATES = {"55P03"}
_NUMBERS = {1205, 3572}

# A limit that is set already is somebody's decision. Local to the transaction: a pooler's session is not ours alone.
_POSTGRESQL = """\
SELECT set_config('lock_timeout',
    CASE current_setting('lock_timeout') WHEN '0' THEN %s ELSE current_setting('lock_timeout') END, true)"""
# Of a row, and of a table (ALTER TABLE); MySQL has these for a session only, so they are put back.
_MYSQL = """\
SET @lifecycle_row = @@SESSION.innodb_lock_wait_timeout, @lifecycle_table = @@SESSION.lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = LEAST(@@SESSION.innodb_lock_wait_timeout, %s),
    SESSION lock_wait_timeout = LEAST(@@SESSION.lock_wait_timeout, %s)"""
_MYSQL_AS_BEFORE = """\
SET SESSION innodb_lock_wait_timeout = @lifecycle_row, SESSION lock_wait_timeout = @lifecycle_table"""


@contextmanager
def bounded(using: str, seconds: float) -> Iterator[None]:
    """Bounds each wait for a lock in the transaction that the block begins with; the session is left as it was.

    Must stand directly inside an outermost ``atomic(using)``. PostgreSQL: until that transaction ends; MySQL: until the
    block does. SQLite bounds the wait for its one lock by the connection's ``timeout``. In a transaction that began
    before ours (a test's) nothing is bounded: what is set there would outlast us.
    """
    connection = connections[using]
    vendor = connection.vendor
    if connection.savepoint_ids or not connection.in_atomic_block or vendor not in ("postgresql", "mysql"):
        yield
        return
    with connection.cursor() as cursor:
        if vendor == "postgresql":
            cursor.execute(_POSTGRESQL, [f"{max(round(seconds * 1000), 1)}ms"])
        else:
            whole = max(round(seconds), 1)
            cursor.execute(_MYSQL, [whole, whole])
    try:
        yield
    finally:
        if vendor == "mysql":
            with suppress(Error), connection.cursor() as cursor:  # a broken connection has no session to put right
                cursor.execute(_MYSQL_AS_BEFORE)


def in_vain(error: BaseException | None) -> bool:
    """Whether a database gave up waiting for somebody else's lock."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if getattr(error, "sqlstate", None) in _STATES or (error.args and error.args[0] in _NUMBERS):
            return True
        error = error.__cause__
    return False
