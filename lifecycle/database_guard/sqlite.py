"""SQLite: a BEFORE UPDATE OF trigger.

Django rebuilds tables here for most alterations, and a rebuilt table has lost its triggers without a word: what
``migrate`` takes away, the installation puts back after the same ``migrate``.
"""

from __future__ import annotations

from typing import Any

from lifecycle.database_guard.trigger import PREFIX, Found, Guarded, Shape, Trigger, literal, named, parts


def trigger(connection: Any, guarded: Guarded) -> Trigger:
    quote = connection.ops.quote_name
    state, version = quote(guarded.state), quote(guarded.version)

    def written(name: str) -> tuple[str, ...]:
        return (
            f"""CREATE TRIGGER {name} BEFORE UPDATE OF {state} ON {quote(guarded.table)} FOR EACH ROW
WHEN NEW.{state} IS NOT OLD.{state} AND NOT coalesce(NEW.{version} > OLD.{version}, 0)
BEGIN SELECT RAISE(ABORT, {literal(guarded.sentence)}); END""",
        )

    return named(guarded, written)


def cannot(guarded: Guarded) -> str | None:
    """Why a column cannot be guarded here, by its name alone."""
    if parts(guarded.table)[0] is not None:
        return "SQLite allows no trigger on a table of another attached database"
    return None


def shapes(connection: Any, triggers: list[Trigger]) -> dict[tuple[str | None, str], Shape]:
    """What stands under the names of these triggers' tables."""
    found: dict[tuple[str | None, str], Shape] = {}
    with connection.cursor() as cursor:
        for table in {trigger.table for trigger in triggers}:
            cursor.execute("SELECT type FROM sqlite_master WHERE name = %s AND type IN ('table', 'view')", [table])
            kinds = [kind for (kind,) in cursor.fetchall()]
            cursor.execute("SELECT name FROM pragma_table_xinfo(%s)", [table])
            columns = frozenset(name for (name,) in cursor.fetchall())
            if kinds:
                found[None, table] = Shape(carries_triggers=kinds == ["table"], columns=columns)
    return found


def found(connection: Any) -> list[Found]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' AND substr(name, 1, %s) = %s",
            [len(PREFIX), PREFIX],
        )
        return [Found(name=name, table=table) for name, table in cursor.fetchall()]


def drop(connection: Any, installed: Found) -> list[str]:
    return [f"DROP TRIGGER {connection.ops.quote_name(installed.name)}"]
