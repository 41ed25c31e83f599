"""The records of the support team."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from lifecycle.models import LifecycleModel, StateField


class Agent(models.Model):
    name = models.CharField(max_length=50)


class Ticket(LifecycleModel):
    """A customer's question; most tests move one of these."""

    class Status(models.TextChoices):
        OPEN = "open", _("Open")
        WAITING = "waiting", _("Waiting for the customer")
        SOLVED = "solved", _("Solved")
        ESCALATED = "escalated", _("Escalated")
        CLOSED = "closed", _("Closed")

    status = StateField(Status)
    title = models.CharField(max_length=100, default="Printer on fire")
    note = models.CharField(max_length=200, blank=True, default="")
    answer = models.TextField(blank=True, default="")
    priority = models.PositiveIntegerField(default=1)
    due_on = models.DateTimeField(null=True, blank=True)
    agent = models.ForeignKey(Agent, null=True, blank=True, on_delete=models.SET_NULL)
    log = models.JSONField(default=list, blank=True)

    class Meta:
        permissions = [("solve_ticket", "Can solve tickets"), ("escalate_ticket", "Can escalate tickets")]
        indexes = [
            models.Index(fields=["status", "status_changed_at"], name="support_ticket_due"),
            models.Index(fields=["status", "due_on"], name="support_ticket_date"),
        ]


class Parcel(LifecycleModel):
    """A record with a UUID key and effects of every kind."""

    class Status(models.TextChoices):
        PACKED = "packed", _("Packed")
        LABELLING = "labelling", _("Labelling")
        SENT = "sent", _("Sent")
        STUCK = "stuck", _("Stuck")
        LOST = "lost", _("Lost")
        RETURNED = "returned", _("Returned")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    status = StateField(Status)
    label = models.CharField(max_length=100, blank=True, default="")
    problem = models.CharField(max_length=200, blank=True, default="")
    scans = models.IntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["status", "status_changed_at"], name="support_parcel_due")]
