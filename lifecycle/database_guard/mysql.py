"""MySQL and MariaDB: a BEFORE UPDATE trigger that signals."""

from __future__ import annotations

from typing import Any

from lifecycle.database_guard.trigger import PREFIX, Found, Guarded, Shape, Trigger, literal, named, parts

# The number of a violated check constraint: Django then raises IntegrityError. The number a SIGNAL has by itself (1644)
# would be an OperationalError.
CHECK_VIOLATED = 3819


def trigger(connection: Any, guarded: Guarded) -> Trigger:
    quote = connection.ops.quote_name
    state, version = quote(guarded.state), quote(guarded.version)
    # BINARY: most collations find 'paid' and 'PAID' equal.
    # A backslash begins an escape in a literal here.
    sentence = literal(guarded.sentence[:128].replace("\\", "/"))

    def written(name: str) -> tuple[str, ...]:
        return (
            # The names are the project's own, quoted by Django; a trigger takes no parameters.
            f"""CREATE TRIGGER {name} BEFORE UPDATE ON {quote(guarded.table)} FOR EACH ROW
IF NOT (BINARY NEW.{state} <=> BINARY OLD.{state}) AND NOT coalesce(NEW.{version} > OLD.{version}, FALSE) THEN
    SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = {CHECK_VIOLATED}, MESSAGE_TEXT = {sentence};
END IF""",  # noqa: S608
        )

    return named(guarded, written)


def cannot(guarded: Guarded) -> str | None:
    """Why a column cannot be guarded here, by its name alone."""
    if parts(guarded.table)[0] is not None:
        # Its trigger would have to live in that database, where another project's of the same server may live too.
        return "MySQL and MariaDB keep a trigger in the database of its table, and this table is in another"
    return None


def shapes(connection: Any, triggers: list[Trigger]) -> dict[tuple[str | None, str], Shape]:
    """What stands under the names of these triggers' tables."""
    found: dict[tuple[str | None, str], Shape] = {}
    with connection.cursor() as cursor:
        for table in {trigger.table for trigger in triggers}:
            cursor.execute(
                """
                SELECT t.table_type, c.column_name FROM information_schema.tables t
                JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
                WHERE t.table_schema = DATABASE() AND t.table_name = %s
                """,
                [table],
            )
            rows = cursor.fetchall()
            if rows:
                columns = frozenset(column for _, column in rows)
                found[None, table] = Shape(carries_triggers=rows[0][0] == "BASE TABLE", columns=columns)
    return found


def found(connection: Any) -> list[Found]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT trigger_name, event_object_table FROM information_schema.triggers
            WHERE trigger_schema = DATABASE() AND left(trigger_name, %s) = %s
            """,
            [len(PREFIX), PREFIX],
        )
        return [Found(name=name, table=table) for name, table in cursor.fetchall()]


def drop(connection: Any, installed: Found) -> list[str]:
    return [f"DROP TRIGGER {connection.ops.quote_name(installed.name)}"]
