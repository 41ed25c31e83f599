"""PostgreSQL: an AFTER UPDATE row trigger that decides in its body.

Not in a WHEN clause, which would be a little cheaper: PostgreSQL then refuses a later ALTER TYPE of the column, and
nothing of ours could repair that, while a body that a rename has broken is replaced after the same ``migrate``.
"""

from __future__ import annotations

from typing import Any

from lifecycle.database_guard.trigger import PREFIX, Found, Guarded, Trigger, literal, named


def trigger(connection: Any, guarded: Guarded) -> Trigger:
    quote = connection.ops.quote_name
    state, version = quote(guarded.state), quote(guarded.version)
    return named(
        guarded,
        f"""CREATE FUNCTION {{name}}() RETURNS trigger LANGUAGE plpgsql AS $lifecycle$
BEGIN
    IF NEW.{state} IS DISTINCT FROM OLD.{state} AND (NEW.{version} > OLD.{version}) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = {literal(guarded.sentence)};
    END IF;
    RETURN NULL;
END $lifecycle$""",
        f"CREATE TRIGGER {{name}} AFTER UPDATE ON {quote(guarded.table)} FOR EACH ROW EXECUTE FUNCTION {{name}}()",
    )


def found(connection: Any) -> list[Found]:
    """By function, not by trigger: a dropped table takes its trigger along and leaves the function."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT f.proname, c.relname
            FROM pg_proc f
            LEFT JOIN pg_trigger t ON t.tgfoid = f.oid AND t.tgparentid = 0
            LEFT JOIN pg_class c ON c.oid = t.tgrelid
            WHERE starts_with(f.proname, %s) AND pg_function_is_visible(f.oid)
            """,
            [PREFIX],
        )
        return [Found(name=name, table=table) for name, table in cursor.fetchall()]


def drop(connection: Any, installed: Found) -> list[str]:
    quote = connection.ops.quote_name
    statements = [f"DROP FUNCTION {quote(installed.name)}()"]
    if installed.table is not None:
        statements.insert(0, f"DROP TRIGGER {quote(installed.name)} ON {quote(installed.table)}")
    return statements
