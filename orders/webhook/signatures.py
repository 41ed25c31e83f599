"""Signature: whether a webhook was sent by somebody who knows one of our secrets, just now (Standard Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping

TOLERANCE = 300  # seconds, into the past and into the future


class InvalidSignature(Exception):
    """The headers are missing, stale, or signed with no secret of ours."""


def verify(headers: Mapping[str, str], body: bytes, secrets: Iterable[str], now: float) -> str:
    """Checks a delivery's headers against its raw body and returns the event's id.

    Several secrets may be valid at a time, and several signatures given: any pair that fits is enough, which is how a
    secret is rotated without losing an event. Every pair is compared, each in constant time.

    Raises:
        InvalidSignature: anything does not fit.
    """
    event_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not event_id or not stamp.isascii() or not stamp.isdigit() or len(stamp) > 12:
        raise InvalidSignature("webhook-id or webhook-timestamp is missing or malformed.")
    if abs(now - int(stamp)) > TOLERANCE:
        raise InvalidSignature("webhook-timestamp is more than five minutes away.")
    content = b".".join((event_id.encode("utf-8", "surrogateescape"), stamp.encode(), body))
    given = list(_given(headers.get("webhook-signature", "")))
    expected = [hmac.new(_key(secret), content, hashlib.sha256).digest() for secret in secrets]
    fits = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in given]
    if not any(fits):
        raise InvalidSignature("webhook-signature fits none of our secrets.")
    return event_id


def _given(header: str) -> Iterable[bytes]:
    for part in header.split()[:10]:
        version, _, encoded = part.partition(",")
        if version == "v1":
            try:
                yield base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                continue


def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix("whsec_"))
