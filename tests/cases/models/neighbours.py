"""Records of the cases in `test_neighbours.py`."""

from __future__ import annotations

from typing import Any

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Status(models.TextChoices):
    OPEN = "open", "Open"
    CLOSED = "closed", "Closed"


class Invoice(LifecycleModel):
    """A model that fills a required column when it is saved."""

    number = models.CharField(max_length=20)
    customer = models.CharField(max_length=20)
    status = StateField(Status)

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.number = self.number or f"INV-{self.customer}"
        super().save(*args, **kwargs)


class CreditNote(Invoice):
    """The child of a concrete model, whose lifecycle is its parent's."""

    why = models.CharField(max_length=20, blank=True, default="")
