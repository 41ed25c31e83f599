"""Another database: a second alias with the tables of the library and of the tests, for as long as a test needs it.

It is a schema of its own on PostgreSQL and a database of its own on SQLite and MariaDB, made once per process. What a
test commits there is deleted after it; nothing of it is rolled back by the test's transaction on `default`.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connections
from django.test import SimpleTestCase

from tests import emptying

ALIAS = "other"
# An alias that a test declares as one that cannot be reached.
AWAY = "away"

_made: set[str] = set()


def install() -> None:
    """From now on Django's test cases let this alias through, although it appears in the middle of one."""
    declared = SimpleTestCase._validate_databases.__func__

    def with_ours(cls: Any) -> frozenset[str]:
        return _WithOurs(declared(cls))

    SimpleTestCase._validate_databases = classmethod(with_ours)  # type: ignore[method-assign,assignment]


@contextlib.contextmanager
def standing() -> Iterator[str]:
    """The alias, from here to the end of the block."""
    connections.databases[ALIAS] = _settings()
    try:
        key = str(connections.databases[ALIAS]["NAME"]) + str(connections.databases[ALIAS]["OPTIONS"])
        if key not in _made:
            _make_tables()
            _made.add(key)
        yield ALIAS
    finally:
        _empty()
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.databases[ALIAS]


class _WithOurs(frozenset[str]):
    """What a test declared, and the alias that may come up: contained, yet not among those set up before the test."""

    def __contains__(self, alias: object) -> bool:
        return alias in (ALIAS, AWAY) or super().__contains__(alias)


def _settings() -> dict[str, Any]:
    default = connections["default"]
    own = copy.deepcopy(connections.databases["default"])
    name = str(default.settings_dict["NAME"])
    if default.vendor == "sqlite":
        own["NAME"] = Path(name).with_suffix(".other.sqlite3")
    elif default.vendor == "postgresql":
        with default.cursor() as cursor:
            cursor.execute("SELECT current_database()")
            own["NAME"] = cursor.fetchone()[0]
        own["OPTIONS"]["options"] += " -c search_path=other_database"
    else:
        own["NAME"] = f"{name}_other"
    return own


def _make_tables() -> None:
    vendor = connections["default"].vendor
    name = connections.databases[ALIAS]["NAME"]
    if vendor == "sqlite":
        for path in Path(name).parent.glob(f"{Path(name).name}*"):
            path.unlink()
    elif vendor == "postgresql":
        with connections[ALIAS].cursor() as cursor:
            cursor.execute("DROP SCHEMA IF EXISTS other_database CASCADE")
            cursor.execute("CREATE SCHEMA other_database")
    else:
        with connections["default"].temporary_connection() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")
            cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    call_command("migrate", database=ALIAS, run_syncdb=True, verbosity=0)


def _empty() -> None:
    connection = connections[ALIAS]
    if connection.in_atomic_block:
        connection.close()
    emptying.empty(ALIAS)
