"""Address: a page of an admin site by name; empty where that site does not have the page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse


def of(site: Any, name: str, *args: Any) -> str:
    """The address of ``name`` (without the site's namespace) on this site."""
    try:
        return reverse(f"{site.name}:{name}", args=args)
    except NoReverseMatch:
        return ""


def stand_on(request: HttpRequest, site: Any) -> HttpRequest:
    """Lets ``{% url 'admin:…' %}`` in templates mean this site, also where it is not the default one."""
    request.current_app = site.name
    return request
