"""ETag: a page that asks again is answered by 304 while it has not changed."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response


def unchanged(request: HttpRequest, etag: str | None) -> HttpResponse | None:
    """304 when the page itself asks again and has not changed; one with something to say is always sent.

    A browser that loads a page again shows what it has kept after a 304, with clocks that begin where they did then.
    """
    if etag is None or "HX-Request" not in request.headers or len(messages.get_messages(request)):
        return None
    answer = get_conditional_response(request, etag=etag)
    return answer if answer is not None and answer.status_code == 304 else None


def tagged(response: HttpResponse, etag: str | None) -> HttpResponse:
    """The page with its ETag, to be asked for again before it is shown from memory."""
    if etag is not None:
        response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "private, no-cache"
    return response
