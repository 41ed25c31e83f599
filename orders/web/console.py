"""Console: the payment provider's own buttons, pressed from the order's page so that a demo needs one window."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.conf import settings

from orders.models import Order
from orders.payments import HttpPayments, ProviderRefused, ProviderUnavailable


@dataclass(frozen=True, kw_only=True)
class Card:
    """What the provider says about an order: its sessions, newest last, and the events it has sent, newest first."""

    sessions: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    holding: bool = False
    trouble: str = ""

    @property
    def session(self) -> dict[str, Any] | None:
        """The newest session."""
        return self.sessions[-1] if self.sessions else None


@cache
def _provider() -> HttpPayments:
    options = settings.PAYMENTS
    return HttpPayments(options["URL"], options["TOKEN"], timeout=3.0)


def card(order: Order) -> Card:
    """Asks the provider; when it does not answer, the card says so and the page still comes."""
    try:
        sessions = _provider().call("GET", "sessions", query={"reference": order.reference})["sessions"]
        told = _provider().call("GET", "events", query={"reference": order.reference})
    except (ProviderRefused, ProviderUnavailable) as error:
        return Card(trouble=str(error))
    return Card(sessions=sessions, events=told["events"], holding=told["holding"])


def pay(session_id: str, *, amount_cents: int | None = None, again: bool = False) -> None:
    """The customer pays: what was asked for, or another amount, or once more."""
    body: dict[str, Any] = {"again": again}
    if amount_cents is not None:
        body["amount_cents"] = amount_cents
    _provider().call("POST", f"sessions/{session_id}/pay", body=body)


def decline(session_id: str) -> None:
    """The customer's bank says no."""
    _provider().call("POST", f"sessions/{session_id}/decline", body={})


def hold(order: Order, on: bool) -> None:
    """Keeps the provider's events about this order back."""
    _provider().call("PUT", f"references/{order.reference}/hold", body={"hold": on})


def deliver(event_id: str) -> None:
    """Sends one event, again if it was sent before."""
    _provider().call("POST", f"events/{event_id}/deliver", body={})
