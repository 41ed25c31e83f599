"""Visitor: a person with a browser, as far as the acceptance rows need one — over HTTP, with cookies and forms."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import httpx
from django.conf import settings

from orders.sandbox import signatures

Answer = TypeVar("Answer")

HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


class Visitor:
    """Somebody who is logged in.

    Pages are read and their forms sent as a browser does; states are read from the REST interface.
    """

    def __init__(self, wait: Callable[..., Any], cookies: httpx.Cookies | None = None) -> None:
        self.wait_until = wait
        self.http = httpx.Client(base_url=settings.SITE_URL, cookies=cookies, timeout=20, trust_env=False)

    def close(self) -> None:
        self.http.close()

    def log_in(self, name: str, password: str) -> None:
        """Through the log-in page."""
        hidden = self.hidden(self.http.get("/accounts/login/").text, "")
        answer = self.http.post("/accounts/login/", data={**hidden, "username": name, "password": password})
        assert answer.status_code == 302, f"{name} could not log in: {answer.status_code}"

    # Pages ---------------------------------------------------------------------------------------

    def new_order(self, **demo: int) -> int:
        """Fills in the form for a new order; returns its number."""
        form = self.http.get("/orders/new/")
        data = {
            **self.hidden(form.text, ""),
            "customer": "Ada Lindqvist",
            "title": "Two espresso cups",
            "amount": "48.00",
            "currency": "EUR",
            "fail_checkouts": "0",
            "fail_refunds": "0",
            **{name: str(value) for name, value in demo.items()},
        }
        answer = self.http.post("/orders/new/", data=data)
        assert answer.status_code == 302, f"a new order was not created: {answer.status_code}"
        return int(answer.headers["location"].rstrip("/").rsplit("/", 1)[1])

    def page(self, order: int) -> str:
        """The order's page."""
        answer = self.http.get(f"/orders/{order}/")
        assert answer.status_code == 200, f"the order's page answered {answer.status_code}"
        return answer.text

    def press(self, order: int, transition: str, page: str | None = None, **fields: str) -> httpx.Response:
        """Sends the form of a transition, as it stands on the page (or on an older copy of it)."""
        address = f"/orders/{order}/fire/{transition}/"
        hidden = self.hidden(page if page is not None else self.page(order), address)
        return self.http.post(address, data={**hidden, **fields})

    def fire(self, order: int, transition: str, **fields: str) -> None:
        """Presses a button that is there and works."""
        answer = self.press(order, transition, **fields)
        assert answer.status_code == 302, f"{transition} answered {answer.status_code}: {_notice(answer.text)}"

    def provider(self, order: int, what: str, **fields: str) -> None:
        """Presses one of the provider's buttons on the order's page."""
        hidden = {"csrfmiddlewaretoken": self.hidden(self.page(order), "")["csrfmiddlewaretoken"]}
        answer = self.http.post(f"/orders/{order}/provider/{what}/", data={**hidden, **fields})
        assert answer.status_code == 302, f"provider {what} answered {answer.status_code}"

    def pay(self, order: int, **fields: str) -> None:
        """Pays the newest session in the sandbox."""
        self.provider(order, "pay", session=self.session(order)["id"], **fields)

    @staticmethod
    def hidden(page: str, address: str) -> dict[str, str]:
        """The hidden fields of the form with this action (of the page's own form, if none is given)."""
        start = rf'<form[^>]*action="{re.escape(address)}"' if address else r'<form method="post" class'
        form = re.search(start + r".*?</form>", page, re.DOTALL)
        if form is None and not address:
            form = re.search(r"<form.*?</form>", page, re.DOTALL)
        assert form is not None, f"there is no form for {address or 'this page'}"
        return {name: html.unescape(value) for name, value in HIDDEN.findall(form[0])}

    # States --------------------------------------------------------------------------------------

    def view(self, order: int) -> dict[str, Any]:
        """The order's lifecycle view: record, state, version, available, history, runs."""
        answer = self.http.get(f"/api/orders/{order}/lifecycle/")
        assert answer.status_code == 200, f"the lifecycle view answered {answer.status_code}"
        data: dict[str, Any] = answer.json()
        return data

    def until(self, order: int, state: str, seconds: float = 30) -> dict[str, Any]:
        """Waits for the order to reach a state; returns its view then."""

        def there() -> dict[str, Any] | None:
            view = self.view(order)
            return view if view["state"] == state else None

        found: dict[str, Any] = self.wait_until(f"order {order} in {state}", there, seconds)
        return found

    def awaiting(self, **demo: int) -> int:
        """A new order that waits for its payment."""
        order = self.new_order(**demo)
        self.fire(order, "checkout")
        self.until(order, "awaiting_payment")
        return order

    def paid(self, **demo: int) -> int:
        """A new order that is paid."""
        order = self.awaiting(**demo)
        self.pay(order)
        self.until(order, "paid")
        return order

    def story(self, order: int) -> list[str]:
        """The transitions so far, oldest first."""
        return [entry["transition"] for entry in reversed(self.view(order)["history"])]

    def run(self, order: int, effect: str) -> dict[str, Any]:
        """The order's newest run of an effect."""
        runs = [run for run in self.view(order)["runs"] if run["effect"] == effect]
        assert runs, f"order {order} enqueues no {effect}"
        newest: dict[str, Any] = runs[0]
        return newest

    # The provider's own interface ------------------------------------------------------------------

    def sandbox(self, method: str, path: str, body: Any = None, **query: str) -> httpx.Response:
        """A call of the provider's interface, as its own console makes it."""
        headers = {"Authorization": f"Bearer {settings.SANDBOX['TOKEN']}"}
        return self.http.request(method, f"/sandbox/{path}", json=body, params=query, headers=headers)

    def sessions(self, order: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.sandbox("GET", "sessions", reference=f"order-{order}").json()["sessions"]
        return found

    def session(self, order: int) -> dict[str, Any]:
        """The newest session of the order."""
        sessions = self.sessions(order)
        assert sessions, f"order {order} has no session"
        return sessions[-1]

    def events(self, order: int) -> list[dict[str, Any]]:
        """The provider's events about the order, newest first."""
        found: list[dict[str, Any]] = self.sandbox("GET", "events", reference=f"order-{order}").json()["events"]
        return found

    def refunds(self, order: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.sandbox("GET", "refunds", reference=f"order-{order}").json()["refunds"]
        return found

    def switch(self, **switches: float | bool) -> None:
        """Sets the provider's switches: latency_seconds, outage."""
        assert self.sandbox("PUT", "switches", switches).status_code == 200

    def send(self, event_id: str, body: bytes, **wrong: Any) -> httpx.Response:
        """Sends a webhook by hand, rightly signed unless told otherwise (``secret``, ``timestamp``, ``leave_out``)."""
        secrets = [wrong["secret"]] if "secret" in wrong else settings.SANDBOX["WEBHOOK_SECRETS"]
        headers: Mapping[str, str] = signatures.headers(
            event_id, wrong.get("timestamp", int(time.time())), body, secrets
        )
        kept = {name: value for name, value in headers.items() if name not in wrong.get("leave_out", ())}
        return self.http.post("/webhooks/sandbox/", content=body, headers=kept)


def _notice(page: str) -> str:
    found = re.search(r'role="alert">(.*?)</div></div>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split()) if found else ""
