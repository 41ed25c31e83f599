"""Tables of flows: runs, executions of steps, what they wait for, messages, and facts left by outsiders."""

from __future__ import annotations

from typing import Any

import django.core.serializers.json
import django.db.models.deletion
from django.db import migrations, models

TABLES = ("flowrun", "stepexecution", "waitcondition", "channelmessage", "flowevent")


def exact_keys(apps: Any, schema_editor: Any) -> None:
    """As every key of ours, names and ids are compared to the letter on MySQL and MariaDB."""
    if schema_editor.connection.vendor == "mysql":
        collation = "utf8mb4_nopad_bin" if schema_editor.connection.mysql_is_mariadb else "utf8mb4_0900_bin"
        for table in TABLES:
            schema_editor.execute(f"ALTER TABLE lifecycle_{table} CONVERT TO CHARACTER SET utf8mb4 COLLATE {collation}")


class Migration(migrations.Migration):
    dependencies = [
        ("lifecycle", "0007_runs_of_any_kind"),
    ]

    operations = [
        migrations.CreateModel(
            name="WaitCondition",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("position", models.PositiveIntegerField()),
                ("name", models.CharField(blank=True, default="", max_length=100)),
                ("channel", models.CharField(blank=True, default="", max_length=100)),
                ("least", models.PositiveIntegerField(default=0)),
                ("most", models.PositiveIntegerField(blank=True, null=True)),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("skipped", models.BooleanField(default=False)),
            ],
            options={
                "verbose_name": "wait condition",
                "verbose_name_plural": "wait conditions",
                "ordering": ["execution", "position"],
            },
        ),
        migrations.AlterField(
            model_name="run",
            name="kind",
            field=models.CharField(
                choices=[("effect", "Effect"), ("step", "Step"), ("advance", "Advance")],
                db_default="effect",
                default="effect",
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="FlowRun",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("flow_id", models.CharField(max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="running",
                        max_length=10,
                    ),
                ),
                ("lifecycle", models.CharField(blank=True, default="", max_length=100)),
                ("record_id", models.CharField(blank=True, default="", max_length=255)),
                ("record_version", models.PositiveBigIntegerField(blank=True, null=True)),
                (
                    "input",
                    models.JSONField(blank=True, encoder=django.core.serializers.json.DjangoJSONEncoder, null=True),
                ),
                ("request_id", models.CharField(blank=True, max_length=200, null=True)),
                ("completing", models.BooleanField(default=False)),
                ("open", models.PositiveIntegerField(default=0)),
                ("numbers", models.JSONField(blank=True, default=dict)),
                ("error", models.TextField(blank=True, default="")),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[
                            ("user", "User"),
                            ("anonymous", "Anonymous"),
                            ("system", "System"),
                            ("machine", "Machine"),
                        ],
                        max_length=10,
                    ),
                ),
                ("actor_id", models.CharField(blank=True, default="", max_length=255)),
                ("actor_label", models.CharField(blank=True, default="", max_length=150)),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "entry",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="flows",
                        to="lifecycle.transitionlog",
                    ),
                ),
            ],
            options={
                "verbose_name": "flow",
                "verbose_name_plural": "flows",
                "ordering": ["id"],
            },
        ),
        migrations.AddField(
            model_name="run",
            name="flow",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="runs",
                to="lifecycle.flowrun",
            ),
        ),
        migrations.CreateModel(
            name="StepExecution",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("step", models.CharField(max_length=100)),
                ("number", models.PositiveIntegerField()),
                ("came_from", models.CharField(max_length=120)),
                (
                    "phase",
                    models.CharField(
                        choices=[
                            ("before_wait", "Before its wait"),
                            ("waiting", "Waiting"),
                            ("executing", "Executing"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "input",
                    models.JSONField(blank=True, encoder=django.core.serializers.json.DjangoJSONEncoder, null=True),
                ),
                ("wait_mode", models.CharField(blank=True, default="", max_length=5)),
                ("wait_failed", models.BooleanField(default=False)),
                (
                    "brought",
                    models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                ("recovery_error", models.TextField(blank=True, default="")),
                (
                    "decision",
                    models.JSONField(blank=True, encoder=django.core.serializers.json.DjangoJSONEncoder, null=True),
                ),
                (
                    "output",
                    models.JSONField(blank=True, encoder=django.core.serializers.json.DjangoJSONEncoder, null=True),
                ),
                ("error", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField()),
                ("waiting_since", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "flow",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="executions",
                        to="lifecycle.flowrun",
                    ),
                ),
            ],
            options={
                "verbose_name": "step execution",
                "verbose_name_plural": "step executions",
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="FlowEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("stop", "Stop"), ("step_failed", "Step failed"), ("skip_timer", "Timer skipped")],
                        max_length=12,
                    ),
                ),
                (
                    "data",
                    models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                ("reason", models.TextField(blank=True, default="")),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[
                            ("user", "User"),
                            ("anonymous", "Anonymous"),
                            ("system", "System"),
                            ("machine", "Machine"),
                        ],
                        max_length=10,
                    ),
                ),
                ("actor_id", models.CharField(blank=True, default="", max_length=255)),
                ("actor_label", models.CharField(blank=True, default="", max_length=150)),
                ("at", models.DateTimeField()),
                ("applied_at", models.DateTimeField(blank=True, null=True)),
                (
                    "flow",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="lifecycle.flowrun",
                    ),
                ),
                (
                    "execution",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="lifecycle.stepexecution"
                    ),
                ),
            ],
            options={
                "verbose_name": "flow event",
                "verbose_name_plural": "flow events",
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="ChannelMessage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("channel", models.CharField(max_length=100)),
                (
                    "payload",
                    models.JSONField(blank=True, encoder=django.core.serializers.json.DjangoJSONEncoder, null=True),
                ),
                ("message_id", models.CharField(blank=True, max_length=200, null=True)),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[
                            ("user", "User"),
                            ("anonymous", "Anonymous"),
                            ("system", "System"),
                            ("machine", "Machine"),
                        ],
                        max_length=10,
                    ),
                ),
                ("actor_id", models.CharField(blank=True, default="", max_length=255)),
                ("actor_label", models.CharField(blank=True, default="", max_length=150)),
                ("published_at", models.DateTimeField()),
                (
                    "flow",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="lifecycle.flowrun",
                    ),
                ),
                (
                    "consumed_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="consumed",
                        to="lifecycle.stepexecution",
                    ),
                ),
            ],
            options={
                "verbose_name": "channel message",
                "verbose_name_plural": "channel messages",
                "ordering": ["id"],
            },
        ),
        migrations.AddField(
            model_name="run",
            name="execution",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="runs",
                to="lifecycle.stepexecution",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("flow__isnull", False)), fields=["flow"], name="lifecycle_run_flow"),
        ),
        migrations.AddField(
            model_name="waitcondition",
            name="execution",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="conditions", to="lifecycle.stepexecution"
            ),
        ),
        migrations.AddField(
            model_name="waitcondition",
            name="flow",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="waits", to="lifecycle.flowrun"
            ),
        ),
        migrations.AddIndex(
            model_name="flowrun",
            index=models.Index(fields=["lifecycle", "record_id", "id"], name="lifecycle_flow_record"),
        ),
        migrations.AddIndex(
            model_name="flowrun",
            index=models.Index(
                condition=models.Q(("finished_at__isnull", False)),
                fields=["finished_at"],
                name="lifecycle_flow_finished",
            ),
        ),
        migrations.AddConstraint(
            model_name="flowrun",
            constraint=models.UniqueConstraint(fields=("name", "flow_id"), name="lifecycle_flow_id"),
        ),
        migrations.AddConstraint(
            model_name="stepexecution",
            constraint=models.UniqueConstraint(fields=("flow", "step", "number"), name="lifecycle_execution_number"),
        ),
        migrations.AddIndex(
            model_name="flowevent",
            index=models.Index(fields=["flow", "applied_at"], name="lifecycle_event_pending"),
        ),
        migrations.AddConstraint(
            model_name="channelmessage",
            constraint=models.UniqueConstraint(fields=("flow", "channel", "message_id"), name="lifecycle_message_id"),
        ),
        migrations.RunPython(exact_keys, migrations.RunPython.noop, atomic=False),
    ]
