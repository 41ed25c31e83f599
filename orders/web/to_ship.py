"""To ship: the paid orders that wait for their parcel to leave."""

from __future__ import annotations

import datetime as dt

from orders.models import Order

SHOWN = 10
LATE = dt.timedelta(days=1)  # who has paid waits no longer for the parcel to leave


def count() -> int:
    """How many there are."""
    return Order.objects.filter(status=Order.Status.PAID).count()


def oldest(now: dt.datetime) -> list[tuple[Order, bool]]:
    """Those that have waited longest, and whether that is too long."""
    paid = Order.objects.filter(status=Order.Status.PAID).order_by("status_changed_at", "pk")[:SHOWN]
    return [(order, now - (order.status_changed_at or order.created_at) > LATE) for order in paid]
