"""Clicks: what the buttons of an order's page do."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from lifecycle.exceptions import Conflict, InvalidInput, Refused, RequestReused
from orders.lifecycles import OrderLifecycle, StrayPaymentLifecycle
from orders.models import StrayPayment
from orders.web import notices, permissions, request_ids
from orders.web.access import clicked, staff
from orders.web.views.order import found, shown

NOT_INPUT = frozenset({"csrfmiddlewaretoken", "version", "request_id", "reader"})


@staff
@clicked
def fire(request: HttpRequest, pk: int, transition: str) -> HttpResponse:
    """Fires a transition for the person who clicked, on the version they were looking at."""
    order = found(pk)
    edge = OrderLifecycle.definition.transitions.get(transition)
    version = _whole(request.POST.get("version"))
    if edge is None or not edge.manual or version is None:
        raise Http404
    given = {name: str(value) for name, value in request.POST.items() if name not in NOT_INPUT}
    typed = notices.filled_in(edge.form, given)
    forms = {transition: edge.form(initial=given)} if edge.form and typed else {}
    if not permissions.may_try(request.user, edge):
        return shown(request, order, notice=notices.not_done([permissions.VIEW_ONLY], typed), status=403)
    try:
        order.lifecycle.fire(
            transition,
            actor=request.user,
            input=given,
            request_id=request_ids.given(request),
            expect_version=version,
            manual=True,
        )
    except (Conflict, RequestReused):
        notice, status = notices.handled_by_someone_else(order, version, request.user, typed), 409
    except InvalidInput as error:
        bound = edge.form(given) if edge.form else None
        notice, status, forms = notices.to_correct(error, bound), 400, {transition: bound}
    except Refused as error:
        notice, status = notices.not_done(error.refusals, typed), 403 if isinstance(error, PermissionDenied) else 409
    else:
        return redirect(order)
    return shown(request, order, notice=notice, forms=forms, status=status)


@staff
@clicked
def retry_stray_refund(request: HttpRequest, pk: int, stray: int) -> HttpResponse:
    """Asks the provider once more to give a stray payment back."""
    payment = get_object_or_404(StrayPayment, pk=stray, order=pk)
    try:
        payment.lifecycle.fire(
            StrayPaymentLifecycle.retry_refund, actor=request.user, request_id=request_ids.given(request), manual=True
        )
    except (Refused, Conflict, RequestReused) as error:
        messages.error(request, str(error))
    return redirect("orders:detail", pk=pk)


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 18 else None
