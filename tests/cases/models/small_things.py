"""Records of the cases in `test_small_things.py`."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Leaflet(LifecycleModel):
    """A record with hooks at some of its states only."""

    class Status(models.TextChoices):
        NEW = "new", "New"
        LOUD = "loud", "Loud"
        SENT = "sent", "Sent"
        KEPT = "kept", "Kept"

    number = models.IntegerField(default=0)
    status = StateField(Status)
