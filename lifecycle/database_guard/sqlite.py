"""SQLite: a BEFORE UPDATE OF trigger.

Django rebuilds tables here for most alterations, and a rebuilt table has lost its triggers without a word: what
``migrate`` takes away, the installation puts back after the same ``migrate``.
"""

from __future__ import annotations

from typing import Any

from lifecycle.database_guard.trigger import PREFIX, Found, Guarded, Trigger, literal, named


def trigger(connection: Any, guarded: Guarded) -> Trigger:
    quote = connection.ops.quote_name
    state, version = quote(guarded.state), quote(guarded.version)
    return named(
        guarded,
        f"""CREATE TRIGGER {{name}} BEFORE UPDATE OF {state} ON {quote(guarded.table)} FOR EACH ROW
WHEN NEW.{state} IS NOT OLD.{state} AND NOT coalesce(NEW.{version} > OLD.{version}, 0)
BEGIN SELECT RAISE(ABORT, {literal(guarded.sentence)}); END""",
    )


def found(connection: Any) -> list[Found]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' AND substr(name, 1, %s) = %s",
            [len(PREFIX), PREFIX],
        )
        return [Found(name=name, table=table) for name, table in cursor.fetchall()]


def drop(connection: Any, installed: Found) -> list[str]:
    return [f"DROP TRIGGER {connection.ops.quote_name(installed.name)}"]
