"""OperatorAction: who retried, continued, cancelled, forced or stopped what, when and why."""

from __future__ import annotations

from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.translation import gettext_lazy as _

from lifecycle.models.history import ActorKind


class OperatorAction(models.Model):
    """One audited operator action; written in the transaction of what it did."""

    id = models.BigAutoField(primary_key=True)
    action = models.CharField(max_length=30)
    lifecycle = models.CharField(max_length=100, blank=True, default="")
    record_id = models.CharField(max_length=255, blank=True, default="")
    run_id = models.BigIntegerField(null=True, blank=True)
    forced = models.BooleanField(default=False)
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices)
    actor_id = models.CharField(max_length=255, blank=True, default="")
    actor_label = models.CharField(max_length=150, blank=True, default="")
    reason = models.CharField(max_length=500, blank=True, default="")
    before = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    at = models.DateTimeField()

    objects: Any = models.Manager()

    class Meta:
        verbose_name = _("operator action")
        verbose_name_plural = _("operator actions")
        ordering = ["id"]
        permissions = [("operate", _("Can retry, continue and cancel effect runs"))]
        indexes = [models.Index(fields=["lifecycle", "record_id", "id"], name="lifecycle_action_record")]

    def __str__(self) -> str:
        about = f" of run {self.run_id}" if self.run_id else ""
        return f"{self.action.replace('_', ' ')}{about} by {self.actor_label or self.actor_id}"
