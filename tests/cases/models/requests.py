"""Records of the cases in `test_requests.py`."""

from __future__ import annotations

import uuid
from decimal import Decimal

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.crypto import get_random_string

from lifecycle.models import LifecycleModel, StateField


class Status(models.TextChoices):
    NEW = "new", "New"
    DONE = "done", "Done"


def token() -> str:
    return get_random_string(12)


def currency() -> str:
    return "EUR"


class Sheet(LifecycleModel):
    """A column of every kind of default."""

    code = models.CharField(max_length=10)
    number = models.IntegerField()
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    at = models.DateTimeField()
    blob = models.BinaryField(editable=True)
    data = models.JSONField()
    currency = models.CharField(max_length=3, default=currency)
    optional = models.IntegerField(null=True, blank=True)
    uuid = models.UUIDField(default=uuid.uuid4)
    token = models.CharField(max_length=12, default=token)
    made_at = models.DateTimeField(default=timezone.now)
    touched_at = models.DateTimeField(auto_now=True)
    factor = models.DecimalField(max_digits=4, decimal_places=1, default=Decimal("1.0"))
    stamp = models.DateTimeField(db_default=Now())
    status = StateField(Status)


class Serial(LifecycleModel):
    """A record whose own unique value is met before the request's key."""

    number = models.CharField(max_length=10, unique=True)
    iban = models.CharField(max_length=34, blank=True, default="")
    status = StateField(Status)
