"""Keys compared exactly on MySQL and MariaDB, whose usual collations take ``AbC`` and ``aBc``, ``é`` and ``e`` for one.

Texts for people (reasons, labels, errors) keep the database's own collation: there they are searched as it says.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations

ENTRIES = "lifecycle_transitionlog"
CREATION_COLUMN = "creation_request_id"
CREATION_KEY = "lifecycle_entry_create_request"

KEYS = {
    "transitionlog": ("lifecycle", "record_id", "transition", "source", "target", "actor_kind", "actor_id"),
    "effectrun": ("lifecycle", "record_id", "effect", "queue", "status", "follow_up", "reminder", "leased_by"),
    "triggerhold": ("lifecycle", "record_id", "trigger"),
}


def exact(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "mysql":
        return
    # Whoever else's column these are compared with, a binary collation wins; but not over another binary one, so that
    # the one that heeds trailing spaces is for request ids alone.
    _collate(apps, schema_editor, "utf8mb4_bin", _without_padding(schema_editor.connection))


def as_the_database(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "mysql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = DATABASE()",
        )
        [collation] = cursor.fetchone()
    _collate(apps, schema_editor, collation, collation)


def _without_padding(connection: Any) -> str:
    return "utf8mb4_nopad_bin" if connection.mysql_is_mariadb else "utf8mb4_0900_bin"


def _collate(apps: Any, schema_editor: Any, collation: str, collation_of_request_ids: str) -> None:
    # No column may be changed while another is generated from it.
    schema_editor.execute(f"DROP INDEX {CREATION_KEY} ON {ENTRIES}")
    schema_editor.execute(f"ALTER TABLE {ENTRIES} DROP COLUMN {CREATION_COLUMN}")
    for name, columns in KEYS.items():
        collations = dict.fromkeys(columns, collation)
        if name == "transitionlog":
            collations["request_id"] = collation_of_request_ids
        _modify(apps.get_model("lifecycle", name), collations, schema_editor)
    schema_editor.execute(
        f"ALTER TABLE {ENTRIES} ADD COLUMN {CREATION_COLUMN} varchar(200) "
        f"CHARACTER SET utf8mb4 COLLATE {collation_of_request_ids} "
        "GENERATED ALWAYS AS (CASE WHEN transition = '$create' THEN request_id END) VIRTUAL"
    )
    schema_editor.execute(f"CREATE UNIQUE INDEX {CREATION_KEY} ON {ENTRIES} (lifecycle, {CREATION_COLUMN})")


def _modify(model: Any, collations: dict[str, str], schema_editor: Any) -> None:
    """One ALTER TABLE per table: it is rebuilt once."""
    fields = [(model._meta.get_field(name), collation) for name, collation in collations.items()]
    changes = ", ".join(
        f"MODIFY {schema_editor.quote_name(field.column)} {field.db_type(schema_editor.connection)} "
        f"CHARACTER SET utf8mb4 COLLATE {collation} {'NULL' if field.null else 'NOT NULL'}"
        for field, collation in fields
    )
    schema_editor.execute(f"ALTER TABLE {schema_editor.quote_name(model._meta.db_table)} {changes}")


class Migration(migrations.Migration):
    # MySQL commits each DDL statement by itself, so there is no transaction to stand in.
    atomic = False
    dependencies = [("lifecycle", "0004_settings_for_postgresql")]

    operations = [migrations.RunPython(exact, as_the_database)]
