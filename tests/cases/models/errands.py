"""Records of the errands: their effect does what a test says."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField
from tests.cases.models.folders import Name


class Errand(LifecycleModel):
    """A record whose effect does what the test says."""

    class Status(models.TextChoices):
        NEW = "new", "New"
        GOING = "going", "Going"
        DONE = "done", "Done"

    status = StateField(Status)


class Reference(models.Model):
    """What a hook may write that the database finds wrong only at the commit."""

    name = models.ForeignKey(Name, on_delete=models.DO_NOTHING)
