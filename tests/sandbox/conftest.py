"""The provider under test, alone or behind a real HTTP server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

TOKEN = "sandbox-token"
SECRET = "whsec_c2FuZGJveA=="


@pytest.fixture(autouse=True)
def sandbox_settings(settings: Any) -> None:
    settings.ROOT_URLCONF = "example_project.urls"
    settings.SANDBOX = {
        "TOKEN": TOKEN,
        "WEBHOOK_URL": "http://127.0.0.1:1/webhooks/sandbox/",
        "MERCHANT_URL": "http://shop.test/",
        "WEBHOOK_SECRETS": [SECRET],
    }


class Api:
    """The provider's HTTP interface with the right token."""

    def __init__(self) -> None:
        self.client = Client(enforce_csrf_checks=True)

    def __call__(self, method: str, path: str, body: Any = None, key: str = "", token: str = TOKEN) -> Any:
        headers = {"Authorization": f"Bearer {token}", **({"Idempotency-Key": key} if key else {})}
        data = "" if body is None else body
        return self.client.generic(
            method,
            f"/sandbox/{path}",
            data if isinstance(data, str) else json.dumps(data),
            content_type="application/json",
            headers=headers,
        )

    def open_session(self, key: str = "k1", **changed: Any) -> Any:
        body = {"reference": "order-1", "amount_cents": 4800, "currency": "EUR", "metadata": {"payment_attempt": 1}}
        return self("POST", "sessions", {**body, **changed}, key)


@pytest.fixture
def api(db: None) -> Api:
    return Api()
