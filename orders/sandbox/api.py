"""The provider's HTTP interface: JSON in and out, one bearer token, errors as ``{"code", "message"}``."""

from __future__ import annotations

import functools
import hmac
import json
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt

from orders.sandbox import outbox, provider
from orders.sandbox.errors import ProviderError
from orders.sandbox.models import Event, HeldReference, Refund, Session, Switches

View = Callable[..., tuple[int, dict[str, Any]]]


def endpoint(*methods: str, switched: bool = True) -> Callable[[View], Callable[..., HttpResponse]]:
    """Makes a view of a function that returns ``(status, body)``.

    ``switched`` calls obey the latency and outage switches; the console's calls (looking, pay, hold, deliver) do not.
    The delay comes after the work: what a slow provider was asked to do, it has done when the client gives up.
    """

    def decorate(view: View) -> Callable[..., HttpResponse]:
        # The provider has transactions of its own; under ATOMIC_REQUESTS a slow answer would hold its rows, and on
        # SQLite everybody's writes.
        @transaction.non_atomic_requests
        @csrf_exempt
        @functools.wraps(view)
        def handle(request: HttpRequest, **arguments: Any) -> HttpResponse:
            try:
                _authorise(request)
                if request.method not in methods:
                    raise ProviderError(405, "METHOD_NOT_ALLOWED", f"Use {' or '.join(methods)}.")
                switches = Switches.read() if switched and request.method != "GET" else Switches()
                if switches.outage:
                    raise ProviderError(503, "OUTAGE", "The provider is down (switched off).")
                status, body = view(request, **arguments)
                time.sleep(switches.latency_seconds)
            except ProviderError as error:
                status, body = error.status, {"code": error.code, "message": error.message}
            return JsonResponse(body, status=status)

        return handle

    return decorate


def _authorise(request: HttpRequest) -> None:
    expected = f"Bearer {settings.SANDBOX['TOKEN']}".encode()
    if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), expected):
        raise ProviderError(401, "UNAUTHORIZED", "The bearer token is missing or wrong.")


@endpoint("POST", "GET")
def sessions(request: HttpRequest) -> tuple[int, dict[str, Any]]:
    if request.method == "GET":
        found = Session.objects.filter(reference=request.GET.get("reference", "")).order_by("created_at")
        return 200, {"sessions": [session_data(session, request) for session in found]}
    body = _body(request)
    metadata = body.get("metadata", {})
    if not isinstance(metadata, dict):
        raise ProviderError(400, "INVALID_REQUEST", "metadata must be an object.")
    session, new = provider.open_session(
        key=_key(request),
        reference=_text(body, "reference"),
        amount_cents=_cents(body, "amount_cents"),
        currency=_currency(body),
        metadata=metadata,
        simulate_failures=_count(body, "simulate_failures"),
    )
    return 201 if new else 200, session_data(session, request)


@endpoint("GET", switched=False)
def session(request: HttpRequest, session_id: str) -> tuple[int, dict[str, Any]]:
    found = Session.objects.filter(pk=session_id).first()
    if found is None:
        raise ProviderError(404, "SESSION_NOT_FOUND", f"There is no session {session_id}.")
    return 200, session_data(found, request)


@endpoint("POST")
def expire(request: HttpRequest, session_id: str) -> tuple[int, dict[str, Any]]:
    return 200, session_data(provider.expire(session_id), request)


@endpoint("POST", switched=False)
def pay(request: HttpRequest, session_id: str) -> tuple[int, dict[str, Any]]:
    body = _body(request)
    payment = provider.pay(
        session_id,
        amount_cents=_cents(body, "amount_cents") if "amount_cents" in body else None,
        currency=_currency(body) if "currency" in body else None,
        again=body.get("again") is True,
    )
    return 200, {"payment_ref": payment.id, **session_data(payment.session, request)}


@endpoint("POST", switched=False)
def decline(request: HttpRequest, session_id: str) -> tuple[int, dict[str, Any]]:
    reason = str(_body(request).get("reason") or provider.DECLINE_REASON)[:200]
    return 200, session_data(provider.decline(session_id, reason=reason), request)


@endpoint("POST", "GET")
def refunds(request: HttpRequest) -> tuple[int, dict[str, Any]]:
    if request.method == "GET":
        found = Refund.objects.filter(payment__session__reference=request.GET.get("reference", ""))
        return 200, {"refunds": [refund_data(refund) for refund in found.order_by("created_at")]}
    body = _body(request)
    refund, new = provider.refund(
        key=_key(request),
        payment_id=_text(body, "payment_ref"),
        simulate_failures=_count(body, "simulate_failures"),
    )
    return 201 if new else 200, refund_data(refund)


@endpoint("GET", switched=False)
def events(request: HttpRequest) -> tuple[int, dict[str, Any]]:
    reference = request.GET.get("reference", "")
    found = Event.objects.filter(session__reference=reference).order_by("-created_at").prefetch_related("deliveries")
    return 200, {
        "events": [event_data(event) for event in found],
        "holding": HeldReference.objects.filter(pk=reference).exists(),
    }


@endpoint("POST", switched=False)
def deliver(request: HttpRequest, event_id: str) -> tuple[int, dict[str, Any]]:
    event = Event.objects.filter(pk=event_id).first()
    if event is None:
        raise ProviderError(404, "EVENT_NOT_FOUND", f"There is no event {event_id}.")
    delivery = outbox.deliver(event)
    event.refresh_from_db()
    return 200, {**event_data(event), "delivery": delivery_data(delivery)}


@endpoint("PUT", switched=False)
def hold(request: HttpRequest, reference: str) -> tuple[int, dict[str, Any]]:
    on = _body(request).get("hold") is True
    provider.hold(reference, on)
    return 200, {"reference": reference, "holding": on}


@endpoint("GET", "PUT", switched=False)
def switches(request: HttpRequest) -> tuple[int, dict[str, Any]]:
    current = Switches.read()
    if request.method == "PUT":
        body = _body(request)
        latency = body.get("latency_seconds", current.latency_seconds)
        if isinstance(latency, bool) or not isinstance(latency, int | float) or not 0 <= latency <= 60:
            raise ProviderError(400, "INVALID_REQUEST", "latency_seconds must be a number from 0 to 60.")
        current.latency_seconds = float(latency)
        current.outage = body.get("outage", current.outage) is True
        current.save()
    return 200, {"latency_seconds": current.latency_seconds, "outage": current.outage}


def session_data(session: Session, request: HttpRequest) -> dict[str, Any]:
    return {
        "id": session.id,
        "url": request.build_absolute_uri(reverse("sandbox:checkout", kwargs={"session_id": session.id})),
        "status": session.status,
        "reference": session.reference,
        "idempotency_key": session.idempotency_key,
        "times_asked": session.times_asked,
        "amount_cents": session.amount_cents,
        "currency": session.currency,
        "payments": [payment.id for payment in session.payments.order_by("created_at")],
    }


def refund_data(refund: Refund) -> dict[str, Any]:
    return {"id": refund.id, "payment_ref": refund.payment_id, "amount_cents": refund.amount_cents}


def event_data(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "type": event.type,
        "status": event.status,
        "created_at": event.created_at.isoformat(),
        "data": json.loads(event.body)["data"],
        "deliveries": [
            delivery_data(delivery) for delivery in sorted(event.deliveries.all(), key=lambda delivery: delivery.pk)
        ],
    }


def delivery_data(delivery: Any) -> dict[str, Any]:
    return {
        "at": delivery.at.isoformat(),
        "status_code": delivery.status_code,
        "answer": delivery.answer,
        "error": delivery.error,
    }


def _body(request: HttpRequest) -> dict[str, Any]:
    if not request.body:
        return {}
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise ProviderError(400, "INVALID_REQUEST", "The body must be a JSON object.")
    return body


def _key(request: HttpRequest) -> str:
    key = request.headers.get("Idempotency-Key", "")
    if not 0 < len(key) <= 200:
        raise ProviderError(400, "INVALID_REQUEST", "Idempotency-Key must have 1 to 200 characters.")
    return key


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= 100:
        raise ProviderError(400, "INVALID_REQUEST", f"{name} must be text of 1 to 100 characters.")
    return value


def _currency(body: dict[str, Any]) -> str:
    value = body.get("currency")
    if not isinstance(value, str) or len(value) != 3 or not value.isascii() or not value.isupper():
        raise ProviderError(400, "INVALID_REQUEST", "currency must be three capital letters.")
    return value


def _cents(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
        raise ProviderError(400, "INVALID_REQUEST", f"{name} must be a whole number above 0.")
    return value


def _count(body: dict[str, Any], name: str) -> int:
    value = body.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1000:
        raise ProviderError(400, "INVALID_REQUEST", f"{name} must be a whole number from 0 to 1000.")
    return value
