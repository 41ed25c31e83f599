"""How PostgreSQL should look after tables whose rows change many times, or only ever become more."""

from __future__ import annotations

from typing import Any

from django.db import migrations

# By its defaults autovacuum waits until a fifth of a table is dead, and analyses when a tenth has changed. Runs change
# three to four times within seconds of their creation while finished ones are kept for weeks: the dead rows lie where the
# claim looks, long before they are a fifth of the table.
BUSY = {
    # Room on the page for a row's next version, so that runs of one moment stay together.
    "fillfactor": "85",
    "autovacuum_vacuum_scale_factor": "0.01",
    "autovacuum_vacuum_threshold": "1000",
    "autovacuum_analyze_scale_factor": "0.02",
}
# Rows are only added: what a vacuum does here is to mark pages as visible to all, for index-only reads.
GROWING = {
    "autovacuum_vacuum_insert_scale_factor": "0.05",
    "autovacuum_analyze_scale_factor": "0.02",
}
SETTINGS = {
    "lifecycle_effectrun": BUSY,
    "lifecycle_triggerhold": BUSY,
    "lifecycle_transitionlog": GROWING,
    "lifecycle_effectattempt": GROWING,
}


def give(apps: Any, schema_editor: Any) -> None:
    """Sets what nobody has set: an administrator's own values stay."""
    if schema_editor.connection.vendor != "postgresql":
        return
    for table, settings in SETTINGS.items():
        there = _settings_of(table, schema_editor)
        wanted = [f"{name} = {value}" for name, value in settings.items() if name not in there]
        if wanted:
            schema_editor.execute(f"ALTER TABLE {table} SET ({', '.join(wanted)})")


def take_back(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return
    for table, settings in SETTINGS.items():
        there = _settings_of(table, schema_editor)
        ours = [name for name, value in settings.items() if there.get(name) == value]
        if ours:
            schema_editor.execute(f"ALTER TABLE {table} RESET ({', '.join(ours)})")


def _settings_of(table: str, schema_editor: Any) -> dict[str, str]:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT option_name, option_value FROM pg_class, pg_options_to_table(reloptions) WHERE oid = %s::regclass",
            [table],
        )
        return dict(cursor.fetchall())


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0003_leases_and_limits")]

    operations = [migrations.RunPython(give, take_back)]
