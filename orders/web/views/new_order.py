"""New order: the form that creates one."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from lifecycle.exceptions import InvalidInput
from lifecycle.runtime import create
from orders.web import interrupted, permissions, request_ids, to_ship
from orders.web.access import staff
from orders.web.forms import NewOrderForm


@staff
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """A new order, created through the runtime; sending the form twice makes one."""
    if not permissions.may_create(request.user):
        raise PermissionDenied
    before = interrupted.given_back(request) if request.method == "GET" else None
    form = NewOrderForm(request.POST or None, initial=before.given if before else None)
    if request.method == "POST" and form.is_valid():
        order = form.order()
        try:
            order = create(
                order,
                actor=request.user,
                input={"title": order.title, "amount_cents": order.amount_cents, "currency": order.currency},
                request_id=request_ids.given(request),
            )
        except InvalidInput as error:
            for problem in error.problems:
                form.add_error(problem.field if problem.field in form.fields else None, str(problem.message))
        else:
            return redirect(order)
    return render(
        request,
        "orders/new.html",
        {
            "form": form,
            "interrupted": before,
            "request_id": request_ids.new(),
            "to_ship_count": to_ship.count(),
            "here": "new",
        },
        status=400 if form.errors else 200,
    )
