"""Services: the outside world of the order lifecycles."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from orders.payments import HttpPayments, Payments


@dataclass(frozen=True, kw_only=True)
class Services:
    """What effects reach as ``self.services``."""

    payments: Payments


def services() -> Services:
    """The services as the settings describe them; made once per process."""
    options = settings.PAYMENTS
    return Services(payments=HttpPayments(options["URL"], options["TOKEN"], options.get("TIMEOUT", 8.0)))
