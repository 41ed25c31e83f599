"""TriggerHold: a timeout or deadline that was due and refused, parked until its next try."""

from __future__ import annotations

from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.translation import gettext_lazy as _


class TriggerHold(models.Model):
    """Why a due trigger did not fire for one stay of one record, and when it is asked again."""

    id = models.BigAutoField(primary_key=True)
    lifecycle = models.CharField(max_length=100)
    record_id = models.CharField(max_length=255)
    trigger = models.CharField(max_length=100)
    version = models.PositiveBigIntegerField()
    tries = models.PositiveIntegerField(default=1)
    retry_at = models.DateTimeField()
    refusals = models.JSONField(default=list, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects: Any = models.Manager()

    class Meta:
        verbose_name = _("held trigger")
        verbose_name_plural = _("held triggers")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["lifecycle", "record_id", "trigger", "version"], name="lifecycle_hold_once")
        ]
        indexes = [models.Index(fields=["retry_at", "id"], name="lifecycle_hold_retry")]

    def __str__(self) -> str:
        return f"{self.lifecycle}/{self.record_id} {self.trigger}: held, {self.tries} tries"
