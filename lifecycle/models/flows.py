"""FlowRun and what belongs to it: executions of steps, what they wait for, messages, and facts that outsiders leave."""

from __future__ import annotations

from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.translation import gettext_lazy as _

from lifecycle.models.history import ActorKind, TransitionLog


class FlowStatus(models.TextChoices):
    RUNNING = "running", _("Running")
    COMPLETED = "completed", _("Completed")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


class Phase(models.TextChoices):
    """Where an execution of a step is: before its wait, in it, before or in its execute, or over."""

    BEFORE_WAIT = "before_wait", _("Before its wait")
    WAITING = "waiting", _("Waiting")
    EXECUTING = "executing", _("Executing")
    COMPLETED = "completed", _("Completed")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


OPEN = (Phase.BEFORE_WAIT, Phase.WAITING, Phase.EXECUTING)


class FlowRunQuerySet(models.QuerySet["FlowRun"]):
    def of(self, lifecycle: str, record_id: str) -> FlowRunQuerySet:
        """The flows of one record, oldest first."""
        return self.filter(lifecycle=lifecycle, record_id=record_id).order_by("id")

    def waiting_on(self, channel: Any) -> FlowRunQuerySet:
        """Running flows in which a step waits for a channel, given as the object or its name."""
        name = channel if isinstance(channel, str) else channel.name
        found = self.filter(status=FlowStatus.RUNNING, waits__channel=name).distinct()
        owner = getattr(channel, "owner", None)
        return found.filter(name=owner.name) if owner is not None else found


class FlowRun(models.Model):
    """One run of a flow. Only commits of steps and advances change it; outsiders leave facts."""

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=100)
    flow_id = models.CharField(max_length=200)
    status = models.CharField(max_length=10, choices=FlowStatus.choices, default=FlowStatus.RUNNING)
    lifecycle = models.CharField(max_length=100, blank=True, default="")
    record_id = models.CharField(max_length=255, blank=True, default="")
    # The record's version at the start: another record under the same key is not this flow's.
    record_version = models.PositiveBigIntegerField(null=True, blank=True)
    entry = models.ForeignKey(
        TransitionLog, on_delete=models.PROTECT, related_name="flows", null=True, blank=True, db_index=False
    )
    input = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    request_id = models.CharField(max_length=200, null=True, blank=True)
    # Once a step asked for it, the flow is complete as soon as none is left.
    completing = models.BooleanField(default=False)
    open = models.PositiveIntegerField(default=0)
    numbers = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True, default="")
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices)
    actor_id = models.CharField(max_length=255, blank=True, default="")
    actor_label = models.CharField(max_length=150, blank=True, default="")
    due_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: Any = FlowRunQuerySet.as_manager()

    class Meta:
        verbose_name = _("flow")
        verbose_name_plural = _("flows")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["name", "flow_id"], name="lifecycle_flow_id")]
        indexes = [
            models.Index(fields=["lifecycle", "record_id", "id"], name="lifecycle_flow_record"),
            models.Index(
                fields=["finished_at"], condition=models.Q(finished_at__isnull=False), name="lifecycle_flow_finished"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.flow_id} ({self.status})"

    @property
    def outputs(self) -> list[Any]:
        """What its steps completed it with, in the order of their commits; nothing unless it is complete."""
        if self.status != FlowStatus.COMPLETED:
            return []
        rows = self.executions.filter(output__isnull=False).order_by("ended_at", "id")
        return list(rows.values_list("output", flat=True))


class StepExecution(models.Model):
    """One execution of a step, ``Pack-1``: its input, what its wait brought, its decision."""

    id = models.BigAutoField(primary_key=True)
    flow = models.ForeignKey(FlowRun, on_delete=models.CASCADE, related_name="executions", db_index=False)
    step = models.CharField(max_length=100)
    number = models.PositiveIntegerField()
    # The execution whose decision began this one; "$start" for the first.
    came_from = models.CharField(max_length=120)
    phase = models.CharField(max_length=12, choices=Phase.choices)
    input = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    wait_mode = models.CharField(max_length=5, blank=True, default="")
    wait_failed = models.BooleanField(default=False)
    brought = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    recovery_error = models.TextField(blank=True, default="")
    decision = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    output = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    waiting_since = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("step execution")
        verbose_name_plural = _("step executions")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["flow", "step", "number"], name="lifecycle_execution_number")]

    def __str__(self) -> str:
        return f"{self.step}-{self.number}"


class WaitCondition(models.Model):
    """One condition of an execution that waits: messages of a channel, or a time. Gone as soon as the wait is over."""

    id = models.BigAutoField(primary_key=True)
    flow = models.ForeignKey(FlowRun, on_delete=models.CASCADE, related_name="waits")
    execution = models.ForeignKey(StepExecution, on_delete=models.CASCADE, related_name="conditions")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=100, blank=True, default="")
    channel = models.CharField(max_length=100, blank=True, default="")
    least = models.PositiveIntegerField(default=0)
    most = models.PositiveIntegerField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    skipped = models.BooleanField(default=False)

    class Meta:
        verbose_name = _("wait condition")
        verbose_name_plural = _("wait conditions")
        ordering = ["execution", "position"]


class ChannelMessage(models.Model):
    """One message: published by a step or from outside, consumed by one wait, once."""

    id = models.BigAutoField(primary_key=True)
    flow = models.ForeignKey(FlowRun, on_delete=models.CASCADE, related_name="messages", db_index=False)
    channel = models.CharField(max_length=100)
    payload = models.JSONField(null=True, blank=True, encoder=DjangoJSONEncoder)
    message_id = models.CharField(max_length=200, null=True, blank=True)
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices)
    actor_id = models.CharField(max_length=255, blank=True, default="")
    actor_label = models.CharField(max_length=150, blank=True, default="")
    published_at = models.DateTimeField()
    consumed_by = models.ForeignKey(
        StepExecution, on_delete=models.CASCADE, related_name="consumed", null=True, blank=True
    )

    class Meta:
        verbose_name = _("channel message")
        verbose_name_plural = _("channel messages")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["flow", "channel", "message_id"], name="lifecycle_message_id")]


class FlowEvent(models.Model):
    """A fact somebody left for a flow: applied by the next advance, kept as its history."""

    class Kind(models.TextChoices):
        STOP = "stop", _("Stop")
        STEP_FAILED = "step_failed", _("Step failed")
        TIMER_SKIPPED = "skip_timer", _("Timer skipped")

    id = models.BigAutoField(primary_key=True)
    flow = models.ForeignKey(FlowRun, on_delete=models.CASCADE, related_name="events", db_index=False)
    execution = models.ForeignKey(StepExecution, on_delete=models.CASCADE, null=True, blank=True)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    data = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    reason = models.TextField(blank=True, default="")
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices)
    actor_id = models.CharField(max_length=255, blank=True, default="")
    actor_label = models.CharField(max_length=150, blank=True, default="")
    at = models.DateTimeField()
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("flow event")
        verbose_name_plural = _("flow events")
        ordering = ["id"]
        indexes = [models.Index(fields=["flow", "applied_at"], name="lifecycle_event_pending")]
