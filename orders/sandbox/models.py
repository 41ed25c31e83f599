"""The provider's own tables: sessions, payments, refunds, events and its switches."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

from django.db import models
from django.utils import timezone

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # no 0/O and 1/I: people read these aloud


def new_id(prefix: str) -> str:
    """An id nobody can guess, short enough to read: ``cs_7Q2M9FKX3T``."""
    return prefix + "_" + "".join(secrets.choice(ALPHABET) for _ in range(10))


class Session(models.Model):
    """One invitation to pay; at most one per idempotency key."""

    class Status(models.TextChoices):
        OPEN = "open"
        PAID = "paid"
        DECLINED = "declined"
        EXPIRED = "expired"

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "cs"))
    idempotency_key = models.CharField(max_length=200, unique=True)
    reference = models.CharField(max_length=100, db_index=True)  # the merchant's name for what is paid
    amount_cents = models.PositiveIntegerField()
    currency = models.CharField(max_length=3)
    metadata = models.JSONField(default=dict)  # given back in every event, never read here
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    times_asked = models.PositiveIntegerField(default=1)  # under its key; above 1, somebody tried again
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.id} ({self.status})"


class Payment(models.Model):
    """Money that moved. A session normally has one; paying once more makes a second."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "pay"))
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="payments")
    amount_cents = models.PositiveIntegerField()
    currency = models.CharField(max_length=3)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.id


class Refund(models.Model):
    """Money given back in full; at most one per idempotency key and one per payment."""

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "re"))
    idempotency_key = models.CharField(max_length=200, unique=True)
    payment = models.OneToOneField(Payment, on_delete=models.CASCADE, related_name="refund")
    amount_cents = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.id


class Event(models.Model):
    """One row of the outbox: what the merchant is to be told, byte for byte the same at every delivery."""

    class Status(models.TextChoices):
        PENDING = "pending"
        HELD = "held"
        DELIVERED = "delivered"
        FAILED = "failed"

    id = models.CharField(primary_key=True, max_length=40, default=partial(new_id, "evt"))
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="events")
    type = models.CharField(max_length=40)
    body = models.TextField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    tries = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["status", "next_try_at"], name="sandbox_event_due")]

    def __str__(self) -> str:
        return f"{self.id} {self.type}"


class Delivery(models.Model):
    """One attempt to deliver an event and what was answered."""

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="deliveries")
    at = models.DateTimeField(default=timezone.now)
    status_code = models.PositiveIntegerField(null=True)  # null: no answer at all
    answer: Any = models.JSONField(default=dict)
    error = models.CharField(max_length=300, blank=True, default="")


class HeldReference(models.Model):
    """While this row is there, events about the reference are kept back."""

    reference = models.CharField(primary_key=True, max_length=100)


class FailureCount(models.Model):
    """How often a simulated failure was answered, per kind of call and reference."""

    key = models.CharField(primary_key=True, max_length=150)
    count = models.PositiveIntegerField(default=0)


class Switches(models.Model):
    """The one row of switches: how late answers come, and whether any come at all."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    latency_seconds = models.FloatField(default=0)
    outage = models.BooleanField(default=False)

    @classmethod
    def read(cls) -> Switches:
        """The switches as they are; all off when nobody has touched them."""
        return cls.objects.filter(pk=1).first() or cls()
