"""Records of the cases in `test_own_projects.py`."""

from __future__ import annotations

from typing import Literal

from django.db import models

from lifecycle.models import LifecycleAccessor, LifecycleModel, StateField


class Crate(LifecycleModel):
    """Says to type checkers what may be fired."""

    class Status(models.TextChoices):
        PACKED = "packed", "Packed"
        SENT = "sent", "Sent"
        LOST = "lost", "Lost"

    lifecycle: LifecycleAccessor[Literal["send", "lose"]]
    status = StateField(Status)
