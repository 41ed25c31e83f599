"""Signature: how the provider signs what it sends (Standard Webhooks, symmetric ``v1``)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable


def headers(event_id: str, timestamp: int, body: bytes, secrets: Iterable[str]) -> dict[str, str]:
    """The three headers of one delivery; while secrets are rotated there is one signature per secret."""
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{sign(event_id, timestamp, body, secret)}" for secret in secrets),
    }


def sign(event_id: str, timestamp: int, body: bytes, secret: str) -> str:
    """The base64 HMAC-SHA256 of ``id.timestamp.body`` under a ``whsec_…`` secret."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = b".".join((event_id.encode(), str(timestamp).encode(), body))
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
