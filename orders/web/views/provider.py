"""The provider's card: what the payment provider says about an order, and its buttons for the demo."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from orders.models import Order
from orders.payments import ProviderRefused, ProviderUnavailable
from orders.web import console, etags, permissions
from orders.web.access import clicked, staff
from orders.web.views.order import found


@staff
@require_safe
def card(request: HttpRequest, pk: int) -> HttpResponse:
    """The provider's card alone: what is outside our system changes without telling us."""
    order = found(pk)
    told, may_press = console.card(order), permissions.may_change(request.user)
    etag = f'W/"{hashlib.sha256(repr((told, order.pk, may_press, get_language())).encode()).hexdigest()[:24]}"'
    return etags.unchanged(request, etag) or etags.tagged(
        render(request, "orders/provider.html", {"order": order, "card": told, "may_press": may_press}), etag
    )


@staff
@clicked
def press(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """Presses one of the provider's buttons for the demo: pay, decline, hold, deliver."""
    order = found(pk)
    button = BUTTONS.get(what)
    if button is None:
        raise Http404
    if not permissions.may_change(request.user):
        messages.error(request, str(permissions.VIEW_ONLY))
        return redirect(order)
    try:
        button(order, request)
    except (ProviderRefused, ProviderUnavailable) as error:
        messages.error(request, _("Payment provider: %(what)s") % {"what": error})
    return redirect(order)


def _pay(order: Order, request: HttpRequest) -> None:
    amount = request.POST.get("amount", "")
    cents: int | None = None
    if amount:
        try:
            cents = int(Decimal(amount.strip().replace(",", ".")) * 100)
        except (InvalidOperation, ValueError, OverflowError):
            raise ProviderRefused("INVALID_REQUEST", _("That is no amount.")) from None
    console.pay(_session(request), amount_cents=cents, again=request.POST.get("again") == "1")


def _decline(order: Order, request: HttpRequest) -> None:
    console.decline(_session(request))


def _hold(order: Order, request: HttpRequest) -> None:
    console.hold(order, request.POST.get("hold") == "1")


def _deliver(order: Order, request: HttpRequest) -> None:
    console.deliver(_word(request, "event"))


BUTTONS: dict[str, Callable[[Order, HttpRequest], None]] = {
    "pay": _pay,
    "decline": _decline,
    "hold": _hold,
    "deliver": _deliver,
}


def _session(request: HttpRequest) -> str:
    return _word(request, "session")


def _word(request: HttpRequest, name: str) -> str:
    """A provider's id from the form; anything that could leave its place in an address is not found."""
    value = request.POST.get(name, "")
    if not value.isascii() or not value.replace("_", "").isalnum():
        raise Http404
    return value
