"""Records of the cases in `test_inlines.py`."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Shelf(models.Model):
    name = models.CharField(max_length=20)


class Book(LifecycleModel):
    class Status(models.TextChoices):
        NEW = "new", "New"
        READ = "read", "Read"

    status = StateField(Status)
    title = models.CharField(max_length=20)
    shelf = models.ForeignKey(Shelf, on_delete=models.CASCADE)
