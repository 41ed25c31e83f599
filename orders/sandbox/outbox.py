"""The provider's outbox: events are recorded with what happened, then delivered until the merchant answers 2xx."""

from __future__ import annotations

import functools
import json
import logging
import threading
from datetime import timedelta
from typing import Any

import httpx
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from orders.sandbox import signatures
from orders.sandbox.models import Delivery, Event, HeldReference, Session

log = logging.getLogger("sandbox.outbox")

ANSWER_WITHIN = httpx.Timeout(5.0)
LAST_TRY = 12
LONGEST_PAUSE = 60  # seconds
CLAIM = timedelta(seconds=30)  # longer than an answer may take, so two deliverers do not send the same event at once


def record(session: Session, type_: str, **data: Any) -> Event:
    """Writes an event inside the caller's transaction; held when the reference is held."""
    now = timezone.now()
    body = {
        "type": type_,
        "timestamp": now.isoformat(),
        "data": {"reference": session.reference, "session_id": session.id, "metadata": session.metadata, **data},
    }
    held = HeldReference.objects.filter(pk=session.reference).exists()
    return Event.objects.create(
        session=session,
        type=type_,
        body=json.dumps(body, separators=(",", ":")),
        status=Event.Status.HELD if held else Event.Status.PENDING,
        next_try_at=now,
        created_at=now,
    )


def deliver(event: Event) -> Delivery:
    """Sends one event, now, whatever its status, and writes down what was answered."""
    delivery = _send(event)
    delivery.save()
    delivered = delivery.status_code is not None and 200 <= delivery.status_code < 300
    tries = event.tries + 1
    if delivered:
        status = Event.Status.DELIVERED
    elif tries >= LAST_TRY:
        status = Event.Status.FAILED
    else:
        status = Event.Status.PENDING
    pause = min(2.0 ** (tries - 1), LONGEST_PAUSE)
    Event.objects.filter(pk=event.pk).update(
        status=status, tries=tries, next_try_at=timezone.now() + timedelta(seconds=pause)
    )
    return delivery


def _send(event: Event) -> Delivery:
    body = event.body.encode()
    headers = signatures.headers(event.id, int(timezone.now().timestamp()), body, settings.SANDBOX["WEBHOOK_SECRETS"])
    try:
        answer = _client().post(
            settings.SANDBOX["WEBHOOK_URL"], content=body, headers={**headers, "content-type": "application/json"}
        )
    except httpx.HTTPError as error:
        return Delivery(event=event, error=(str(error) or type(error).__name__)[:300])
    return Delivery(event=event, status_code=answer.status_code, answer=_json(answer))


@functools.cache
def _client() -> httpx.Client:
    # One for the process (making one reads all certificates); no connection is kept, so a fork inherits none.
    return httpx.Client(timeout=ANSWER_WITHIN, limits=httpx.Limits(max_keepalive_connections=0), trust_env=False)


def _json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return {}


def deliver_due(limit: int = 50) -> int:
    """Delivers what is due, oldest first; returns how many were sent. Safe to run in several places at once."""
    sent = 0
    now = timezone.now()
    due = Event.objects.filter(status=Event.Status.PENDING, next_try_at__lte=now).order_by("next_try_at", "created_at")
    for event in due[:limit]:
        mine = Event.objects.filter(pk=event.pk, status=Event.Status.PENDING, next_try_at=event.next_try_at).update(
            next_try_at=now + CLAIM
        )
        if mine:
            deliver(event)
            sent += 1
    return sent


def run(stop: threading.Event, every: float = 0.2) -> None:
    """Delivers until told to stop; a database that is busy or away is waited for."""
    while not stop.is_set():
        try:
            deliver_due()
        except DatabaseError as error:
            log.warning("outbox waits for the database: %s", error)
            connection.close()
            stop.wait(1.0)
        stop.wait(every)
    connection.close()
