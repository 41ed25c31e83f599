"""MySQL and MariaDB: a BEFORE UPDATE trigger that signals."""

from __future__ import annotations

from typing import Any

from lifecycle.database_guard.trigger import PREFIX, Found, Guarded, Trigger, literal, named

# The number of a violated check constraint: Django then raises IntegrityError. The number a SIGNAL has by itself (1644)
# would be an OperationalError.
CHECK_VIOLATED = 3819


def trigger(connection: Any, guarded: Guarded) -> Trigger:
    quote = connection.ops.quote_name
    state, version = quote(guarded.state), quote(guarded.version)
    # BINARY: most collations find 'paid' and 'PAID' equal.
    return named(
        guarded,
        # The names are the project's own, quoted by Django; a trigger takes no parameters.
        f"""CREATE TRIGGER {{name}} BEFORE UPDATE ON {quote(guarded.table)} FOR EACH ROW
IF NOT (BINARY NEW.{state} <=> BINARY OLD.{state}) AND NOT coalesce(NEW.{version} > OLD.{version}, FALSE) THEN
    SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = {CHECK_VIOLATED}, MESSAGE_TEXT = {literal(guarded.sentence[:128])};
END IF""",  # noqa: S608
    )


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
