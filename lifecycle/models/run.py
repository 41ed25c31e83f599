"""Run and RunAttempt: claimable work, enqueued once, and its starts that did not simply succeed."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.translation import gettext_lazy as _

from lifecycle.definition.names import effect_name
from lifecycle.models.history import TransitionLog, life_begins


class RunKind(models.TextChoices):
    """What is to be done; a kind says how it is called, what ends it and what follows (`lifecycle.execution.kinds`)."""

    EFFECT = "effect", _("Effect")
    STEP = "step", _("Step")
    ADVANCE = "advance", _("Advance")


class RunStatus(models.TextChoices):
    HELD = "held", _("Held")
    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    DEAD = "dead", _("Dead")
    CANCELLED = "cancelled", _("Cancelled")


class FollowUp(models.TextChoices):
    NONE = "none", _("None")
    PENDING = "pending", _("Pending")
    APPLIED = "applied", _("Applied")
    DROPPED = "dropped", _("Dropped")
    ABANDONED = "abandoned", _("Abandoned")


class Outcome(models.TextChoices):
    """Which of the effect's follow-ups an outcome asks for; part of the follow-up's request id."""

    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    DEAD = "dead", _("Dead")


class RunQuerySet(models.QuerySet["Run"]):
    def of(self, lifecycle: str, record_id: str) -> RunQuerySet:
        """One record's runs, oldest first."""
        return self.filter(lifecycle=lifecycle, record_id=record_id).order_by("id")

    def of_life(self, lifecycle: str, record_id: str) -> RunQuerySet:
        """The same without those of earlier records of the same key, which were deleted."""
        return self.of(lifecycle, record_id).filter(entry__version__gte=life_begins(lifecycle, record_id, self.db))


class Run(models.Model):
    """One piece of claimable work: queued, running under a lease, or finished.

    A held run may not start yet: it stands outside the index of what is due. ``entry`` is what enqueued it; work that
    no transition asked for has none.
    """

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, choices=RunKind.choices, default=RunKind.EFFECT, db_default=RunKind.EFFECT)
    entry = models.ForeignKey(
        TransitionLog, on_delete=models.PROTECT, related_name="runs", db_index=False, null=True, blank=True
    )
    flow = models.ForeignKey(
        "FlowRun", on_delete=models.CASCADE, related_name="runs", null=True, blank=True, db_index=False
    )
    execution = models.ForeignKey(
        "StepExecution", on_delete=models.CASCADE, related_name="runs", null=True, blank=True, db_index=False
    )
    lifecycle = models.CharField(max_length=100)
    record_id = models.CharField(max_length=255)
    effect = models.CharField(max_length=100)
    queue = models.CharField(max_length=100, default="default")
    stay_version = models.PositiveBigIntegerField(null=True, blank=True)
    status = models.CharField(max_length=10, choices=RunStatus.choices, default=RunStatus.QUEUED)
    available_at = models.DateTimeField()

    attempts = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(null=True, blank=True, default=1)
    retry_base = models.PositiveIntegerField(default=0)
    crashes = models.PositiveIntegerField(default=0)
    max_crashes = models.PositiveIntegerField(default=3)

    fence = models.PositiveBigIntegerField(default=0)
    lease_seconds = models.PositiveIntegerField(default=60)
    lease_until = models.DateTimeField(null=True, blank=True)
    leased_by = models.CharField(max_length=150, blank=True, default="")
    started_at = models.DateTimeField(null=True, blank=True)
    # The start of the first attempt since the run was queued, or queued again by an operator; known once one has ended.
    first_started_at = models.DateTimeField(null=True, blank=True)
    # Where marks_entry is set, a worker writes entered_at before it enters the code: as long as there is none, the code
    # certainly never ran.
    marks_entry = models.BooleanField(default=False, db_default=False)
    entered_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.UUIDField(default=uuid.uuid4, editable=False)

    checkpoint = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    result = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    error_kind = models.CharField(max_length=20, blank=True, default="")
    error_code = models.CharField(max_length=100, blank=True, default="")
    error = models.TextField(blank=True, default="")
    error_details = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)

    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True, default="")
    follow_up = models.CharField(max_length=10, choices=FollowUp.choices, default=FollowUp.NONE)
    follow_up_due_at = models.DateTimeField(null=True, blank=True)
    follow_up_tries = models.PositiveIntegerField(default=0)
    follow_up_error = models.TextField(blank=True, default="")

    reminder = models.CharField(max_length=100, blank=True, default="")
    trace_context = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: Any = RunQuerySet.as_manager()

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["queue", "available_at", "id"], condition=models.Q(status="queued"), name="lifecycle_run_due"
            ),
            models.Index(
                fields=["lease_until"], condition=models.Q(lease_until__isnull=False), name="lifecycle_run_lease"
            ),
            models.Index(
                fields=["follow_up_due_at"], condition=models.Q(follow_up="pending"), name="lifecycle_run_follow_up"
            ),
            models.Index(fields=["lifecycle", "record_id", "id"], name="lifecycle_run_record"),
            # Runs of effects, which belong to none, are not in it.
            models.Index(fields=["flow"], condition=models.Q(flow__isnull=False), name="lifecycle_run_flow"),
        ]

    def __str__(self) -> str:
        return f"{effect_name(self.lifecycle, self.effect)} #{self.pk} ({self.status})"


class RunAttempt(models.Model):
    """A start of a run that failed, timed out or crashed; a start that simply succeeded writes none."""

    class Ending(models.TextChoices):
        FAILED = "failed", _("Failed")
        TIMED_OUT = "timed_out", _("Timed out")
        CRASHED = "crashed", _("Crashed")

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempt_rows")
    number = models.PositiveIntegerField()
    ending = models.CharField(max_length=10, choices=Ending.choices)
    worker = models.CharField(max_length=150, blank=True, default="")
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField()
    error_kind = models.CharField(max_length=20, blank=True, default="")
    error_code = models.CharField(max_length=100, blank=True, default="")
    error = models.TextField(blank=True, default="")
    traceback = models.TextField(blank=True, default="")

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"run {self.run_id}, start {self.number}: {self.ending}"
