"""Records of the cases in `test_edits.py`."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Concat, Upper

from lifecycle.models import LifecycleModel, StateField


class Status(models.TextChoices):
    NEW = "new", "New"
    DONE = "done", "Done"


class Computed(LifecycleModel):
    """Columns that the database or the field itself fills."""

    title = models.CharField(max_length=20, default="")
    status = StateField(Status)
    loud = models.GeneratedField(
        expression=Upper("title"), output_field=models.CharField(max_length=20), db_persist=True
    )
    shown = models.GeneratedField(
        expression=Concat("status", models.Value("!")), output_field=models.CharField(max_length=90), db_persist=True
    )
    day = models.DateField(auto_now=True)
    time = models.TimeField(auto_now=True)
    moment = models.DateTimeField(auto_now=True)


class Holder(models.Model):
    name = models.CharField(max_length=20)


class Joining(models.Manager["Joined"]):
    def get_queryset(self) -> models.QuerySet[Joined]:
        return super().get_queryset().select_related("owner")


class Counting(models.Manager["Counted"]):
    def get_queryset(self) -> models.QuerySet[Counted]:
        shown: Any = super().get_queryset().exclude(title="hidden")
        found: models.QuerySet[Counted] = shown.annotate(owners=models.Count("owner"))
        return found


class Owned(LifecycleModel):
    title = models.CharField(max_length=20, blank=True, default="")
    owner = models.ForeignKey(Holder, null=True, blank=True, on_delete=models.CASCADE)
    status = StateField(Status)

    class Meta:
        abstract = True


class Joined(Owned):
    objects = Joining()

    class Meta:
        base_manager_name = "objects"


class Counted(Owned):
    objects = Counting()
    everything = models.Manager()

    class Meta:
        base_manager_name = "objects"
