"""One order: where it is, what can be done, what happened, what is pending."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from orders.lifecycles import OrderLifecycle
from orders.models import Order
from orders.web import etags, fingerprints, interrupted, notices, order_page, request_ids, to_ship
from orders.web.access import staff
from orders.web.notices import Notice


@staff
@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Where the order is, what can be done, what happened, what is pending."""
    etag = _fingerprint(pk, request)
    return etags.unchanged(request, etag) or etags.tagged(_looked_at(request, found(pk), etag), etag)


def _looked_at(request: HttpRequest, order: Order, etag: str | None) -> HttpResponse:
    """The page; for who had to log in between filling in a form and pressing its button, with the form as it was."""
    before = interrupted.given_back(request) if "HX-Request" not in request.headers else None
    if before is None:
        return shown(request, order, etag=etag)
    edge = OrderLifecycle.definition.transitions.get(before.transition)
    form = edge.form if edge is not None else None
    notice = notices.logged_in_again(notices.filled_in(form, before.given) if edge is not None else [])
    forms = {before.transition: form(initial=before.given)} if form is not None else {}
    return shown(request, order, etag=etag, notice=notice, forms=forms)


def shown(
    request: HttpRequest,
    order: Order,
    *,
    etag: str | None = None,
    notice: Notice | None = None,
    forms: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The order's page.

    Args:
        etag: what it was asked for under, if it was looked at before it is made.
        notice: what stands above it.
        forms: those that were filled in, by transition.
    """
    facts = {
        **order_page.facts(order, request.user, forms or {}),
        "etag": etag or _fingerprint(order.pk, request),
        "notice": notice,
        "request_id": request_ids.new(),
        "to_ship_count": to_ship.count(),
    }
    return render(request, "orders/detail.html", facts, status=status)


def found(pk: int) -> Order:
    """The order of an address."""
    try:
        return get_object_or_404(Order, pk=pk)
    except OverflowError:  # a number no order can have
        raise Http404 from None


def _fingerprint(pk: int, request: HttpRequest) -> str | None:
    try:
        return fingerprints.of_order(pk, request.user)
    except OverflowError:
        return None
