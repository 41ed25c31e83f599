"""Records of the cases in `test_bad_parameters.py`."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Measured(LifecycleModel):
    """Something whose process an operator may set in every way."""

    class Status(models.TextChoices):
        NEW = "new", "New"
        PAID = "paid", "Paid"
        SHIPPED = "shipped", "Shipped"

    status = StateField(Status)

    class Meta:
        indexes = [models.Index(fields=["status", "status_changed_at"], name="cases_measured_due")]
