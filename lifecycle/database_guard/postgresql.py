"""PostgreSQL: an AFTER UPDATE row trigger that decides in its body.

Not in a WHEN clause, which would be a little cheaper: PostgreSQL then refuses a later ALTER TYPE of the column, and
nothing of ours could repair that, while a body that a rename has broken is replaced after the same ``migrate``.
"""

from __future__ import annotations

import itertools
from typing import Any

from lifecycle.database_guard.trigger import PREFIX, Found, Guarded, Shape, Trigger, literal, named

# Tables, partitioned tables and foreign tables; a view has no rows of its own to be changed.
CARRY_TRIGGERS = ("r", "p", "f")
LONGEST_NAME = 63  # bytes; PostgreSQL cuts what is longer


def trigger(connection: Any, guarded: Guarded) -> Trigger:
    quote = connection.ops.quote_name
    state, version = quote(guarded.state), quote(guarded.version)
    names = guarded.table + guarded.state + guarded.version
    tag = next(tag for number in itertools.count() if (tag := f"$lifecycle{number or ''}$") not in names)

    def written(name: str) -> tuple[str, ...]:
        return (
            f"""CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS {tag}
BEGIN
    IF NEW.{state} IS DISTINCT FROM OLD.{state} AND (NEW.{version} > OLD.{version}) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = {literal(guarded.sentence)};
    END IF;
    RETURN NULL;
END {tag}""",
            f"CREATE TRIGGER {name} AFTER UPDATE ON {quote(guarded.table)} FOR EACH ROW EXECUTE FUNCTION {name}()",
        )

    return named(guarded, written, cut=_cut)


def _cut(name: str) -> str:
    return name.encode()[:LONGEST_NAME].decode(errors="ignore")


def cannot(guarded: Guarded) -> str | None:
    """Why a column cannot be guarded here, by its name alone."""
    return None


def shapes(connection: Any, triggers: list[Trigger]) -> dict[tuple[str | None, str], Shape]:
    """What stands under the names of these triggers' tables, on the search path or in the schema they name."""
    asked = {(trigger.schema, trigger.table): _quoted(trigger.schema, trigger.table) for trigger in triggers}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT asked.name, c.relkind::text, array_agg(a.attname::text)
            FROM unnest(%s::text[]) AS asked (name)
            JOIN pg_class c ON c.oid = to_regclass(asked.name)
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            GROUP BY asked.name, c.relkind
            """,
            [list(asked.values())],
        )
        seen = {
            name: Shape(carries_triggers=kind in CARRY_TRIGGERS, columns=frozenset(columns))
            for name, kind, columns in cursor.fetchall()
        }
    return {place: seen[name] for place, name in asked.items() if name in seen}


def found(connection: Any) -> list[Found]:
    """By function, not by trigger: a dropped table takes its trigger along and leaves the function."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT f.proname, c.relname, n.nspname, coalesce(pg_table_is_visible(c.oid), TRUE)
            FROM pg_proc f
            LEFT JOIN pg_trigger t ON t.tgfoid = f.oid AND t.tgparentid = 0
            LEFT JOIN pg_class c ON c.oid = t.tgrelid
            LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE starts_with(f.proname, %s) AND pg_function_is_visible(f.oid)
            """,
            [PREFIX],
        )
        return [
            Found(name=name, table=table, schema=schema, visible=visible)
            for name, table, schema, visible in cursor.fetchall()
        ]


def drop(connection: Any, installed: Found) -> list[str]:
    quote = connection.ops.quote_name
    statements = [f"DROP FUNCTION {quote(installed.name)}()"]
    if installed.table is not None:
        statements.insert(0, f"DROP TRIGGER {quote(installed.name)} ON {_quoted(installed.schema, installed.table)}")
    return statements


def _quoted(*names: str | None) -> str:
    """Schema and table as SQL. Not by Django, which leaves a quote inside a name alone."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names if name is not None)
