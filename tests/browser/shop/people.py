"""People: who works in the shop, with a browser; and the payment provider as its own console sees it."""

from __future__ import annotations

import json
import re
import time
import uuid
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, expect

from orders.sandbox import signatures

SCREENSHOTS = Path(__file__).parents[3] / "var" / "screenshots"
# What the example's settings have when nothing else is said.
TOKEN = "only-for-development"
SECRET = "whsec_b25seS1mb3ItZGV2ZWxvcG1lbnQ="
# The browser writes a line for every answer that is not 2xx; these answers are what the pages are for.
EXPECTED = re.compile(r"Failed to load resource: the server responded with a status of (400|403|409)")
WATCH = "addEventListener('securitypolicyviolation', e => console.error(`CSP ${e.violatedDirective} ${e.blockedURI}`))"


class Person:
    """Somebody at the shop's pages: clicks, types, and reads what stands there."""

    def __init__(self, browser: Browser, url: str, problems: list[str], **options: Any) -> None:
        self.url = url
        self.problems = problems
        self.awaited: list[str] = []
        self.context: BrowserContext = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.context.add_init_script(WATCH)
        self.context.set_default_timeout(20_000)
        self.page: Page = self.new_page()

    def new_page(self) -> Page:
        page = self.context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.problems.append(f"{page.url}: {error}"))
        return page

    def _hear(self, message: Any) -> None:
        expected = EXPECTED.match(message.text) or any(words in message.text for words in self.awaited)
        if message.type in ("error", "warning") and not expected:
            self.problems.append(f"{message.location.get('url')}: {message.text}")

    def expects(self, *words: str) -> None:
        """From now on the browser may complain in these words: the test makes what it complains about."""
        self.awaited += words

    def close(self) -> None:
        self.context.close()

    def log_in(self, name: str) -> Person:
        self.page.goto(f"{self.url}/accounts/login/")
        self.page.fill("#id_username", name)
        self.page.fill("#id_password", "admin")
        self.page.locator("#main button[type=submit]").click()
        expect(self.page.locator("#chips")).to_be_visible()
        return self

    # Orders --------------------------------------------------------------------------------------

    def new_order(self, title: str = "Two espresso cups", **demo: int) -> int:
        """Fills in the form for a new order, and is then on its page."""
        self.page.goto(f"{self.url}/orders/new/")
        self.page.fill("#id_customer", "Ada Lindqvist")
        self.page.fill("#id_title", title)
        self.page.fill("#id_amount", "48.00")
        for name, value in demo.items():
            self.page.fill(f"#id_{name}", str(value))
        self.page.locator("#main button[type=submit]").click()
        self.page.wait_for_url(re.compile(r"/orders/\d+/$"))
        return int(self.page.url.rstrip("/").rsplit("/", 1)[1])

    def look_at(self, order: int) -> None:
        self.page.goto(f"{self.url}/orders/{order}/")

    def press(self, transition: str) -> None:
        self.page.locator(f"#do-{transition}").click()

    def provider(self, what: str) -> None:
        """Presses one of the provider's buttons: pay, decline, hold."""
        self.page.locator(f"#provider-{what}").click()

    def sees(self, state: str, seconds: float = 20) -> None:
        """Waits, without touching anything, until the page says the state."""
        expect(self.page.locator("h1 .lc-badge")).to_have_text(state, timeout=seconds * 1000)

    def sees_in(self, part: str, words: str | re.Pattern[str], seconds: float = 15) -> None:
        expect(self.page.locator(f"#{part}")).to_contain_text(words, timeout=seconds * 1000)

    def awaiting(self, **demo: int) -> int:
        """A new order that waits for its payment."""
        order = self.new_order(**demo)
        self.press("checkout")
        self.sees("Awaiting payment")
        return order

    def paid(self, **demo: int) -> int:
        order = self.awaiting(**demo)
        self.provider("pay")
        self.sees("Paid")
        return order

    def story(self) -> list[str]:
        """What the history says happened, oldest first."""
        return self.page.locator("#history .lc-what > strong").all_inner_texts()[::-1]

    def session(self) -> str:
        """The session on the provider's card."""
        return self.page.locator("#provider > .lc-facts code").inner_text()

    def ship(self, carrier: str, number: str) -> None:
        self.page.select_option("#id_carrier", carrier)
        self.page.fill("#id_tracking_number", number)
        self.press("ship")

    def screenshot(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


class Provider:
    """The payment provider by its own interface."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=20, trust_env=False)

    def close(self) -> None:
        self.http.close()

    def _call(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answer = self.http.request(method, f"/sandbox/{path}", json=body, params=query, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def sessions(self, order: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call("GET", "sessions", reference=f"order-{order}")["sessions"]
        return found

    def refunds(self, order: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._call("GET", "refunds", reference=f"order-{order}")["refunds"]
        return found

    def latency(self, seconds: float) -> None:
        self._call("PUT", "switches", {"latency_seconds": seconds})

    def until_sessions(self, order: int, page: Page) -> None:
        """Waits until the provider has opened a session, whether or not we know of it."""
        limit = time.monotonic() + 20
        while not self.sessions(order):
            assert time.monotonic() < limit, "the provider was never asked"
            page.wait_for_timeout(50)

    def declines(self, order: int, event: str = "", **wrong: Any) -> httpx.Response:
        """Sends the shop a decline by hand; ``secret`` and ``timestamp`` may be wrong."""
        event = event or f"evt_{uuid.uuid4().hex[:10]}"
        data = {
            "reference": f"order-{order}",
            "session_id": "cs_BYHAND",
            "metadata": {},
            "reason": "Insufficient funds",
        }
        body = json.dumps({"type": "payment.declined", "timestamp": "2026-03-12T14:02:31Z", "data": data}).encode()
        secrets = [wrong.get("secret", SECRET)]
        headers = signatures.headers(event, wrong.get("timestamp", int(time.time())), body, secrets)
        return self.http.post("/webhooks/sandbox/", content=body, headers=headers)
