"""Records with owned columns of every kind."""

from __future__ import annotations

import copy
import uuid
from typing import Any

from django.db import models

from lifecycle.models import ChangedAtField, LifecycleModel, StateField, VersionField


class Customer(models.Model):
    name = models.CharField(max_length=50)


class Status(models.TextChoices):
    NEW = "new", "New"
    PAID = "paid", "Paid"
    SHIPPED = "shipped", "Shipped"


class ShoutingQuerySet(models.QuerySet["Order"]):
    def shout(self) -> int:
        return self.update(name=models.functions.Upper("name"))


class Order(LifecycleModel):
    """A plain record, with relations, managers of its own and constraints that look at the state."""

    customer = models.ForeignKey(Customer, null=True, blank=True, on_delete=models.SET_NULL, related_name="orders")
    name = models.CharField(max_length=50, default="mug")
    status = StateField(Status)
    note = models.CharField(max_length=50, blank=True, default="")
    extra = models.JSONField(default=dict, blank=True)

    objects: Any = models.Manager()
    shouting: Any = ShoutingQuerySet.as_manager()

    class Meta:
        base_manager_name = "objects"
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=Status.values), name="columns_order_known_state"),
            models.UniqueConstraint(
                fields=["name"], condition=models.Q(status="shipped"), name="columns_order_one_shipped"
            ),
        ]
        indexes = [models.Index(fields=["status", "status_changed_at"], name="columns_order_due")]


class OrderProxy(Order):
    class Meta:
        proxy = True


class BigOrder(Order):
    """A child with a table of its own."""

    size = models.IntegerField(default=0)


class Page(LifecycleModel):
    """A key somebody chooses: Django tries an UPDATE first when it is saved."""

    slug = models.SlugField(primary_key=True)
    title = models.CharField(max_length=50, default="")
    status = StateField(Status)


class Token(LifecycleModel):
    """A key with a default."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    status = StateField(Status)
    note = models.CharField(max_length=50, blank=True, default="")
    touched_at = models.DateTimeField(auto_now=True)


class Stamped(LifecycleModel):
    stamp = models.CharField(max_length=50, default="")
    status = StateField(Status)

    class Meta:
        abstract = True


class Letter(Stamped):
    """Inherits its state from an abstract model."""

    text = models.CharField(max_length=50, default="")


class PaymentStatus(models.TextChoices):
    OPEN = "open", "Open"
    SETTLED = "settled", "Settled"


class Invoice(LifecycleModel):
    """Two lifecycles on one row."""

    status = StateField(Status)
    payment = StateField(PaymentStatus)
    payment_changed_at = ChangedAtField(for_state="payment")
    payment_version = VersionField(for_state="payment")
    note = models.CharField(max_length=50, blank=True, default="")


class OldTable(LifecycleModel):
    """A table that had columns of its own before it had a lifecycle."""

    # Django lets a model drop what an abstract parent brings.
    status_changed_at = None
    lifecycle_version = None

    phase = StateField(Status)
    moved_at = ChangedAtField(for_state="phase")
    revision = VersionField(for_state="phase")


class Twin(models.Model):
    """Somebody's own picture of the orders' table."""

    name = models.CharField(max_length=50)
    status = models.CharField(max_length=63)

    class Meta:
        managed = False
        db_table = "columns_order"


class OrderCopy(models.Model):
    """A history table as packages make them: copies of the fields, on a model without a lifecycle."""

    name = models.CharField(max_length=50, default="")


for _name in ("status", "status_changed_at", "lifecycle_version"):
    copy.copy(Order._meta.get_field(_name)).contribute_to_class(OrderCopy, _name)  # type: ignore[union-attr]
