"""Sample data: a handful of orders, begun and moved on through the runtime like any others."""

from __future__ import annotations

from typing import Any

from lifecycle.runtime import create
from orders.lifecycles import OrderLifecycle
from orders.models import Order

# Customer, item, cents, whether somebody pressed Pay, and how often the provider fails first.
ORDERS: list[tuple[str, str, int, bool, int, int]] = [
    ("Sam Reed", "Tea pot", 5800, False, 0, 0),
    ("Marta Silva", "Walnut reading lamp", 12900, True, 0, 0),
    ("Jonas Weber", "Linen apron", 3650, True, 2, 0),
    ("Priya Nair", "Cast-iron pan", 8900, True, 3, 0),
    ("Nils Berg", "Reading chair", 38900, True, 0, 3),
    ("Ada Lindqvist", "Two espresso cups", 4800, True, 0, 0),
]


def make(actor: Any) -> list[Order]:
    """Creates the sample orders and presses Pay on most of them; the rest is the worker's."""
    made = []
    for customer, title, cents, pay, fail_checkouts, fail_refunds in ORDERS:
        order = create(
            Order(
                customer=customer,
                title=title,
                amount_cents=cents,
                fail_checkouts=fail_checkouts,
                fail_refunds=fail_refunds,
            ),
            actor=actor,
            input={"title": title, "amount_cents": cents},
        )
        if pay:
            order.lifecycle.fire(OrderLifecycle.checkout, actor=actor)
        made.append(order)
    return made
