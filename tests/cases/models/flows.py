"""Records that flows belong to."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Shipment(LifecycleModel):
    """Paid, then dispatched by a flow."""

    class Status(models.TextChoices):
        NEW = "new", "New"
        PAID = "paid", "Paid"
        SHIPPED = "shipped", "Shipped"
        RETURNED = "returned", "Returned"

    status = StateField(Status)
    carrier = models.CharField(max_length=20, blank=True)
    by_hand = models.BooleanField(default=False)
    locked = models.BooleanField(default=False)
