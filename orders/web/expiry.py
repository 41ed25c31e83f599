"""Expiry: until when an unpaid order waits."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from lifecycle.runtime import parameters
from orders.lifecycles import OrderLifecycle
from orders.models import Order

WAITING = (Order.Status.AWAITING_PAYMENT, Order.Status.PAYMENT_FAILED)


@dataclass(frozen=True, kw_only=True)
class Expiry:
    """The moment the tick cancels an order, and how much of its window is left."""

    at: dt.datetime
    left: dt.timedelta
    window: dt.timedelta

    @property
    def percent_left(self) -> int:
        return max(0, min(100, round(100 * self.left / self.window))) if self.window else 0


def payment_window() -> dt.timedelta:
    """How long an order may wait for its payment, as operators have set it now."""
    window: dt.timedelta = parameters(OrderLifecycle).payment_window
    return window


def of(order: Order, now: dt.datetime, window: dt.timedelta) -> Expiry | None:
    """The order's expiry, or None where time does nothing."""
    if order.status not in WAITING:
        return None
    at = (order.status_changed_at or order.created_at) + window
    return Expiry(at=at, left=at - now, window=window)
