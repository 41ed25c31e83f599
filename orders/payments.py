"""Payments: the payment provider as the shop sees it, over HTTP, with a time limit on every call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import httpx

# Refusals by number that are none: too slow, too early, too many requests.
TRY_AGAIN = (408, 425, 429)


class ProviderUnavailable(Exception):
    """No usable answer: a time limit, a broken connection, or the provider's own trouble. Worth another try."""


class ProviderRefused(Exception):
    """The provider said no, with a code; the same request would get the same answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, kw_only=True)
class Session:
    """A checkout session as the provider reports it."""

    id: str
    url: str
    status: str


class Payments(Protocol):
    """What the effects ask of a provider; tests put their own in its place.

    ``simulate_failures`` is for the sandbox: so often it fails before it does what it is asked.
    """

    def open_session(
        self,
        *,
        idempotency_key: str,
        reference: str,
        amount_cents: int,
        currency: str,
        metadata: dict[str, Any],
        simulate_failures: int,
    ) -> Session: ...

    def expire_session(self, session_id: str, *, idempotency_key: str) -> Session: ...

    def refund(self, *, idempotency_key: str, payment_ref: str, simulate_failures: int = 0) -> str: ...


class HttpPayments:
    """The real provider.

    Args:
        url: the address its interface starts at.
        token: what it knows the shop by.
        timeout: seconds a connection, and then each part of an answer, may take; below the effects' own time limit, so
            that a slow provider is reported as what it is.
    """

    def __init__(self, url: str, token: str, timeout: float = 8.0) -> None:
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(timeout),
            # No connection outlives its call: workers fork, and two processes must not share one.
            limits=httpx.Limits(max_keepalive_connections=0),
            trust_env=False,
        )

    def open_session(
        self,
        *,
        idempotency_key: str,
        reference: str,
        amount_cents: int,
        currency: str,
        metadata: dict[str, Any],
        simulate_failures: int,
    ) -> Session:
        """Opens one checkout session per idempotency key, or returns the one opened before."""
        return _session(
            self.call(
                "POST",
                "sessions",
                idempotency_key=idempotency_key,
                body={
                    "reference": reference,
                    "amount_cents": amount_cents,
                    "currency": currency,
                    "metadata": metadata,
                    "simulate_failures": simulate_failures,
                },
            )
        )

    def expire_session(self, session_id: str, *, idempotency_key: str) -> Session:
        """Closes a session that is still open; one that is paid stays paid and is reported so."""
        return _session(self.call("POST", f"sessions/{session_id}/expire", idempotency_key=idempotency_key))

    def refund(self, *, idempotency_key: str, payment_ref: str, simulate_failures: int = 0) -> str:
        """Gives a payment back in full, once per idempotency key; returns the refund's id."""
        body = {"payment_ref": payment_ref, "simulate_failures": simulate_failures}
        return str(self.call("POST", "refunds", idempotency_key=idempotency_key, body=body)["id"])

    def call(
        self,
        method: str,
        path: str,
        *,
        idempotency_key: str = "",
        body: Any = None,
        query: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """One call; the answer is a JSON object.

        Raises:
            ProviderRefused: the provider said no (4xx).
            ProviderUnavailable: there was no usable answer.
        """
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        try:
            answer = self._client.request(method, path, json=body, params=query, headers=headers)
        except httpx.TimeoutException as error:
            raise ProviderUnavailable("The payment provider did not answer in time.") from error
        except httpx.HTTPError as error:
            raise ProviderUnavailable(f"The payment provider could not be reached: {error}.") from error
        data = _json_object(answer)
        if answer.is_success and data is not None:
            return data
        said, status = data or {}, answer.status_code
        message = str(said.get("message") or "no explanation")
        if 400 <= status < 500 and status not in TRY_AGAIN:
            raise ProviderRefused(str(said.get("code") or status), message)
        raise ProviderUnavailable(f"{status} {message}")


def _json_object(answer: httpx.Response) -> dict[str, Any] | None:
    try:
        data = answer.json()
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _session(data: dict[str, Any]) -> Session:
    try:
        return Session(id=str(data["id"]), url=str(data["url"]), status=str(data["status"]))
    except KeyError as error:
        raise ProviderUnavailable(f"The payment provider's answer has no {error}.") from error
