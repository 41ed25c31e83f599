"""ParameterOverride: a lifecycle parameter's value as an operator changed it."""

from __future__ import annotations

from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.translation import gettext_lazy as _


class ParameterOverride(models.Model):
    """One overridden parameter; absent means the default of the declaration."""

    id = models.BigAutoField(primary_key=True)
    lifecycle = models.CharField(max_length=100)
    name = models.CharField(max_length=100)
    value = models.JSONField(encoder=DjangoJSONEncoder)
    updated_at = models.DateTimeField()

    objects: Any = models.Manager()

    class Meta:
        verbose_name = _("parameter")
        verbose_name_plural = _("parameters")
        ordering = ["lifecycle", "name"]
        constraints = [models.UniqueConstraint(fields=["lifecycle", "name"], name="lifecycle_parameter_once")]

    def __str__(self) -> str:
        return f"{self.lifecycle}.{self.name}"
