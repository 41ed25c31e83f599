"""Services: what the effects of the lifecycles reach outside, and what its errors mean to the library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings

from lifecycle import Fail
from orders.payments import HttpPayments, Payments, ProviderRefused, ProviderUnavailable


@dataclass(frozen=True, kw_only=True)
class Services:
    """What effects reach as ``self.services``; tests put another in its place."""

    payments: Payments


def services() -> Services:
    """The services as the settings describe them; made once per process."""
    options = settings.PAYMENTS
    return Services(payments=HttpPayments(options["URL"], options["TOKEN"], options.get("TIMEOUT", 8.0)))


@contextmanager
def provider_errors() -> Iterator[None]:
    """Around a call of the provider: its no is final, everything else is tried again."""
    try:
        yield
    except ProviderRefused as refused:
        raise Fail(refused.code, refused.message) from refused
    except ProviderUnavailable as trouble:
        raise Fail("provider_unavailable", str(trouble), retry=True) from trouble
