"""Receiver: the view that the payment provider delivers its events to."""

from __future__ import annotations

import logging
import time

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from lifecycle.exceptions import Conflict
from orders.webhook import events, outcomes, signatures

log = logging.getLogger("orders.webhook")

LARGEST = 64 * 1024  # bytes; an event has about 500


@csrf_exempt  # no session, no cookie: the signature says who sends
@require_POST
def receive(request: HttpRequest) -> JsonResponse:
    """Answers 200 with what became of the event; anything else makes the sender deliver again.

    413 too large · 401 not signed by a secret of ours within five minutes · 400 signed, but no event ·
    503 somebody else was faster, or the database is in trouble.
    """
    body = _body(request)
    if body is None:
        return _refused(413, "too_large", f"More than {LARGEST} bytes.")
    try:
        event_id = signatures.verify(request.headers, body, settings.PAYMENTS["WEBHOOK_SECRETS"], time.time())
    except signatures.InvalidSignature as error:
        return _refused(401, "invalid_signature", str(error))
    try:
        outcome = outcomes.apply(events.read(event_id, body))
    except events.MalformedEvent as error:
        return _refused(400, "invalid_event", str(error))
    except (Conflict, DatabaseError) as error:
        log.warning("event %s is to be delivered again: %s", event_id, error)
        return _refused(503, "try_again", "Not now. Deliver it again.")
    return JsonResponse(outcome.as_dict())


def _body(request: HttpRequest) -> bytes | None:
    """The raw body, or None when it is too large; what is too large is not read."""
    try:
        announced = int(request.headers.get("Content-Length") or 0)
    except ValueError:
        announced = LARGEST + 1
    if announced > LARGEST:
        return None
    body = request.read(LARGEST + 1)
    return body if len(body) <= LARGEST else None


def _refused(status: int, code: str, message: str) -> JsonResponse:
    return JsonResponse({"code": code, "message": message}, status=status)
