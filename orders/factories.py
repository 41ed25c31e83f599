"""Factories: orders for tests, in any state a test needs."""

from __future__ import annotations

from typing import Any

import factory
from factory.django import DjangoModelFactory

from lifecycle.testing import LifecycleFactoryMixin
from orders.models import Order, StrayPayment


class OrderFactory(LifecycleFactoryMixin, DjangoModelFactory[Order]):
    """An order; ``OrderFactory(status="paid")`` puts it into a state without the way there."""

    class Meta:
        model = Order

    customer: Any = factory.Faker("name")
    title: Any = factory.Iterator(["Two espresso cups", "Walnut reading lamp", "Linen apron", "Oak stool"])
    amount_cents = 4800
    currency = "EUR"


class StrayPaymentFactory(LifecycleFactoryMixin, DjangoModelFactory[StrayPayment]):
    """Money that an order did not ask for."""

    class Meta:
        model = StrayPayment

    order: Any = factory.SubFactory(OrderFactory)
    payment_ref: Any = factory.Sequence(lambda number: f"pay_{number}")
    amount_cents = 4700
    currency = "EUR"
    reason = "€47.00 was paid instead of €48.00."
