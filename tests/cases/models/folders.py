"""Records of the property test `tests/properties/test_people.py`."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Name(models.Model):
    """What a hook trips over: every name exists once."""

    name = models.SlugField(unique=True)


class Folder(LifecycleModel):
    """A record with a key that somebody chooses, so that it may be chosen again."""

    class Status(models.TextChoices):
        SHELF = "shelf", "On the shelf"
        TABLE = "table", "On the table"
        FILED = "filed", "Filed"

    slug = models.SlugField(primary_key=True)
    status = StateField(Status)
    title = models.CharField(max_length=50, blank=True, default="")
    labels = models.JSONField(default=list, blank=True)
    weight = models.FloatField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["status", "status_changed_at"], name="cases_folder_due")]
