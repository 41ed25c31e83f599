"""Access: who may open a page, and who may press its buttons."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.defaults import page_not_found, permission_denied

from orders.web import interrupted, permissions

REFUSED, MISSING = "orders/403.html", "orders/404.html"


def staff(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Only people who work here and may see orders; who asks for something that is not there is shown the way back."""

    @functools.wraps(view)
    def guarded(request: HttpRequest, **arguments: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return interrupted.log_in_first(request)
        if not request.user.is_staff or not permissions.may_see(request.user):
            return permission_denied(request, PermissionDenied(), REFUSED)
        try:
            return view(request, **arguments)
        except PermissionDenied as refused:
            return permission_denied(request, refused, REFUSED)
        except Http404 as missing:  # by our own page also while developing
            return page_not_found(request, missing, MISSING)

    return guarded


def clicked(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Only a form of the order's page; who comes by the address alone is led to that page."""

    @functools.wraps(view)
    def guarded(request: HttpRequest, **arguments: Any) -> HttpResponse:
        if request.method != "POST":
            return redirect("orders:detail", pk=arguments["pk"])
        return view(request, **arguments)

    return guarded
