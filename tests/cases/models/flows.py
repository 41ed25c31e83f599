"""Records that flows belong to."""

from __future__ import annotations

import uuid

from django.db import models

from lifecycle.models import LifecycleModel, StateField


def odd_number() -> str:
    """A key with what no id of a flow may hold."""
    return f"S/{uuid.uuid4()}:$1"


class Shipment(LifecycleModel):
    """Paid, then dispatched by a flow."""

    class Status(models.TextChoices):
        NEW = "new", "New"
        PAID = "paid", "Paid"
        SHIPPED = "shipped", "Shipped"
        RETURNED = "returned", "Returned"

    number = models.CharField(primary_key=True, max_length=60, default=odd_number)
    status = StateField(Status)
    carrier = models.CharField(max_length=20, blank=True)
    by_hand = models.BooleanField(default=False)
    locked = models.BooleanField(default=False)
