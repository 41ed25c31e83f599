"""Records of the cases in `test_passing_time.py`."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Loan(LifecycleModel):
    """A record that time moves in two ways: after a while, and on a date of its own."""

    class Status(models.TextChoices):
        LENT = "lent", "Lent"
        LATE = "late", "Late"
        BACK = "back", "Back"

    status = StateField(Status)
    title = models.CharField(max_length=50, default="")
    due_at = models.DateTimeField(null=True, blank=True)
    price = models.DecimalField(max_digits=6, decimal_places=2, null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["status", "status_changed_at"], name="cases_loan_stay"),
            models.Index(fields=["status", "due_at"], name="cases_loan_due"),
        ]
