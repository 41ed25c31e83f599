"""Tick: the gate that lets one caller at a time do the periodic pass, and what the last pass found."""

from __future__ import annotations

from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.translation import gettext_lazy as _


class Tick(models.Model):
    """``next_at`` is the gate: whoever moves it forward does the pass."""

    name = models.CharField(max_length=50, primary_key=True)
    next_at = models.DateTimeField()
    last_started_at = models.DateTimeField(null=True, blank=True)
    last_finished_at = models.DateTimeField(null=True, blank=True)
    counts = models.JSONField(default=dict, encoder=DjangoJSONEncoder)

    objects: Any = models.Manager()

    class Meta:
        verbose_name = _("tick")
        verbose_name_plural = _("ticks")

    def __str__(self) -> str:
        return self.name
