"""What MySQL and MariaDB need in place of partial indexes: there, Django creates them without their conditions."""

from __future__ import annotations

from typing import Any

from django.db import migrations

RUNS = "lifecycle_effectrun"
DUE = "lifecycle_run_due"
# Without its condition the index would lead past every finished run; and the claim's ORDER BY must be the index's own,
# or every matching row is sorted and locked.
DUE_COLUMNS = ("queue", "status", "available_at", "id")
DUE_COLUMNS_BEFORE = ("queue", "available_at", "id")

# "Unique among creations" is a unique key over a column that is NULL for every other entry.
ENTRIES = "lifecycle_transitionlog"
CREATION_COLUMN = "creation_request_id"
CREATION_KEY = "lifecycle_entry_create_request"


def add(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "mysql":
        return
    _index_due(schema_editor, DUE_COLUMNS)
    schema_editor.execute(
        f"ALTER TABLE {ENTRIES} ADD COLUMN {CREATION_COLUMN} varchar(200) "
        "GENERATED ALWAYS AS (CASE WHEN transition = '$create' THEN request_id END) VIRTUAL"
    )
    schema_editor.execute(f"CREATE UNIQUE INDEX {CREATION_KEY} ON {ENTRIES} (lifecycle, {CREATION_COLUMN})")


def remove(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "mysql":
        return
    schema_editor.execute(f"DROP INDEX {CREATION_KEY} ON {ENTRIES}")
    schema_editor.execute(f"ALTER TABLE {ENTRIES} DROP COLUMN {CREATION_COLUMN}")
    _index_due(schema_editor, DUE_COLUMNS_BEFORE)


def _index_due(schema_editor: Any, columns: tuple[str, ...]) -> None:
    schema_editor.execute(f"DROP INDEX {DUE} ON {RUNS}")
    schema_editor.execute(f"CREATE INDEX {DUE} ON {RUNS} ({', '.join(columns)})")


class Migration(migrations.Migration):
    # MySQL commits each DDL statement by itself, so there is no transaction to stand in.
    atomic = False
    dependencies = [("lifecycle", "0001_initial")]

    operations = [migrations.RunPython(add, remove)]
