"""Records of the cases in `test_readable_input.py`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from lifecycle.models import LifecycleModel, StateField

ON_POSTGRESQL = "postgresql" in settings.DATABASES["default"]["ENGINE"]


class Everything(LifecycleModel):
    """A column of every type that Django ships."""

    class Status(models.TextChoices):
        EMPTY = "empty", "Empty"
        FULL = "full", "Full"

    status = StateField(Status)
    big = models.BigIntegerField(null=True, blank=True)
    binary = models.BinaryField(null=True, blank=True, editable=True)
    boolean = models.BooleanField(null=True, blank=True)
    char = models.CharField(max_length=20, null=True, blank=True)
    date = models.DateField(null=True, blank=True)
    moment = models.DateTimeField(null=True, blank=True)
    decimal = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    duration = models.DurationField(null=True, blank=True)
    email = models.EmailField(null=True, blank=True)
    real = models.FloatField(null=True, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    integer = models.IntegerField(null=True, blank=True)
    json = models.JSONField(null=True, blank=True)
    positive_big = models.PositiveBigIntegerField(null=True, blank=True)
    positive = models.PositiveIntegerField(null=True, blank=True)
    positive_small = models.PositiveSmallIntegerField(null=True, blank=True)
    slug = models.SlugField(null=True, blank=True)
    small = models.SmallIntegerField(null=True, blank=True)
    text = models.TextField(null=True, blank=True)
    time = models.TimeField(null=True, blank=True)
    url = models.URLField(null=True, blank=True)
    uuid = models.UUIDField(null=True, blank=True)
    link = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL)

    if ON_POSTGRESQL:
        from django.contrib.postgres import fields as _postgres

        numbers: Any = _postgres.ArrayField(models.IntegerField(), null=True, blank=True)
        times: Any = _postgres.ArrayField(models.DateTimeField(), null=True, blank=True)
        span: Any = _postgres.DateTimeRangeField(null=True, blank=True)
        range: Any = _postgres.BigIntegerRangeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["status", "status_changed_at"], name="cases_everything_due")]


COLUMNS = [
    field.name
    for field in Everything._meta.concrete_fields
    if field.name not in ("id", "status", "status_changed_at", "lifecycle_version")
]
