"""Runs under a name that fits every kind of claimable work: effects are the first, and need not be the only one."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.apps import apps as installed
from django.db import migrations, models

# Permissions are rows of Django's own apps, where a project has them.
GRANTED = [("auth", "0001_initial")] if installed.is_installed("django.contrib.auth") else []
RENAMED = {"effectrun": "run", "effectattempt": "runattempt"}


def keep_permissions(apps: Any, schema_editor: Any) -> None:
    """Whoever was granted the permissions of the old names has those of the new ones."""
    _rename_permissions(apps, schema_editor, RENAMED)


def give_permissions_back(apps: Any, schema_editor: Any) -> None:
    _rename_permissions(apps, schema_editor, {new: old for old, new in RENAMED.items()})


def _rename_permissions(apps: Any, schema_editor: Any, names: dict[str, str]) -> None:
    if not GRANTED:
        return
    rows = apps.get_model("auth", "Permission").objects.using(schema_editor.connection.alias)
    for old, new in names.items():
        for action in ("add", "change", "delete", "view"):
            found = rows.filter(content_type__app_label="lifecycle", codename=f"{action}_{old}")
            if not rows.filter(content_type__app_label="lifecycle", codename=f"{action}_{new}").exists():
                found.update(codename=f"{action}_{new}")


def exact_kind(apps: Any, schema_editor: Any) -> None:
    """As every other key of ours, the kind is compared to the letter on MySQL and MariaDB."""
    if schema_editor.connection.vendor == "mysql":
        schema_editor.execute(
            "ALTER TABLE lifecycle_run MODIFY kind varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin "
            "NOT NULL DEFAULT 'effect'"
        )


def name_keys_as_tables(apps: Any, schema_editor: Any) -> None:
    """PostgreSQL leaves the key of a renamed table its old name; plans and errors say it."""
    _rename_keys(schema_editor, RENAMED)


def give_keys_back(apps: Any, schema_editor: Any) -> None:
    _rename_keys(schema_editor, {new: old for old, new in RENAMED.items()})


def _rename_keys(schema_editor: Any, names: dict[str, str]) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for old, new in names.items():
            schema_editor.execute(f"ALTER INDEX IF EXISTS lifecycle_{old}_pkey RENAME TO lifecycle_{new}_pkey")


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0006_holds_by_retry"), *GRANTED]

    operations = [
        migrations.RenameModel("EffectRun", "Run"),
        migrations.RenameModel("EffectAttempt", "RunAttempt"),
        migrations.AlterModelOptions("run", {"ordering": ["id"], "verbose_name": "run", "verbose_name_plural": "runs"}),
        migrations.AlterModelOptions(
            "runattempt", {"ordering": ["id"], "verbose_name": "attempt", "verbose_name_plural": "attempts"}
        ),
        migrations.AddField(
            "run",
            "kind",
            models.CharField(choices=[("effect", "Effect")], db_default="effect", default="effect", max_length=10),
        ),
        migrations.AlterField(
            "run",
            "entry",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="runs",
                to="lifecycle.transitionlog",
            ),
        ),
        migrations.AlterField(
            "run",
            "status",
            models.CharField(
                choices=[
                    ("held", "Held"),
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("succeeded", "Succeeded"),
                    ("failed", "Failed"),
                    ("dead", "Dead"),
                    ("cancelled", "Cancelled"),
                ],
                default="queued",
                max_length=10,
            ),
        ),
        migrations.RunPython(name_keys_as_tables, give_keys_back, atomic=False),
        migrations.RunPython(exact_kind, migrations.RunPython.noop, atomic=False),
        migrations.RunPython(keep_permissions, give_permissions_back),
    ]
