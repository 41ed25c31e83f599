"""Request id: the key that each form carries, so that a double click counts once."""

from __future__ import annotations

import uuid

from django.http import HttpRequest


def given(request: HttpRequest) -> str | None:
    """The key of the form that was sent; one that we did not make is no key."""
    try:
        return f"page:{uuid.UUID(request.POST.get('request_id', ''))}"
    except ValueError:
        return None


def new() -> str:
    """A key for a form that is about to be shown."""
    return str(uuid.uuid4())
