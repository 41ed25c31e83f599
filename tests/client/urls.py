"""A page of a project's own, and the support team's endpoints."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import ensure_csrf_cookie


@ensure_csrf_cookie
def page(request: Any) -> HttpResponse:
    """Under the strictest policy that a page with scripts can have."""
    response = HttpResponse("<!doctype html><title>Support</title><p id=state></p>")
    response["Content-Security-Policy"] = "default-src 'self'"
    return response


urlpatterns = [path("page/", page), path("", include("tests.rest.urls"))]
