"""The same job three times: under our lifecycle, by hand, and plain."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Status(models.TextChoices):
    IDLE = "idle"
    BUSY = "busy"


class Columns(models.Model):
    title = models.CharField(max_length=100, default="A job like any other")
    amount = models.IntegerField(default=5)
    note = models.CharField(max_length=200, default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class Job(Columns, LifecycleModel):
    status = StateField(Status)


class PlainJob(Columns):
    status = models.CharField(max_length=63, choices=Status.choices, default=Status.IDLE)
    status_changed_at = models.DateTimeField(auto_now_add=True)
    version = models.PositiveBigIntegerField(default=0)


class PlainHistory(models.Model):
    """What a careful developer keeps of every change."""

    job_id = models.CharField(max_length=255)
    transition = models.CharField(max_length=100)
    source = models.CharField(max_length=63)
    target = models.CharField(max_length=63)
    version = models.PositiveBigIntegerField()
    actor_kind = models.CharField(max_length=10, default="system")
    actor_id = models.CharField(max_length=255, default="")
    actor_label = models.CharField(max_length=150, default="")
    reason = models.CharField(max_length=500, default="")
    request_id = models.CharField(max_length=200, null=True)
    input = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job_id", "version"], name="bench_history_version"),
            models.UniqueConstraint(fields=["job_id", "request_id"], name="bench_history_request"),
        ]


class PlainRun(models.Model):
    """What a careful developer keeps of the work that a change asks for."""

    entry = models.ForeignKey(PlainHistory, on_delete=models.CASCADE)
    job_id = models.CharField(max_length=255)
    effect = models.CharField(max_length=100)
    queue = models.CharField(max_length=100, default="default")
    status = models.CharField(max_length=20, default="queued")
    available_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=3)
    lease_until = models.DateTimeField(null=True)
    result = models.JSONField(null=True)
    error = models.TextField(default="")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entry", "effect"], name="bench_run_entry")]
        indexes = [models.Index(fields=["status", "queue", "available_at"], name="bench_run_due")]
