"""A real browser on a real server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from lifecycle import dispatch
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.runtime import create
from tests.conftest import needed
from tests.rest.conftest import user_with
from tests.support.models import Parcel, Ticket

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
HINT = "install Debian's package chromium, or name the program by CHROMIUM"
# As root there is no sandbox; the rest keeps the browser from calling home.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    needed("Chromium", CHROMIUM, HINT)
    from playwright.sync_api import sync_playwright

    # Playwright runs an event loop in this thread, and Django would take every query of a test for one inside it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            yield started
            started.close()
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def endpoints(settings: Any, transactional_db: None) -> Iterator[None]:
    settings.ROOT_URLCONF = "tests.client.urls"
    with dispatch.replaced(RecordingDispatcher()):
        yield


@pytest.fixture
def user(endpoints: None) -> User:
    return user_with("agent", "support.solve_ticket", "lifecycle.operate")


@pytest.fixture
def ticket(user: User) -> Ticket:
    return create(Ticket(), actor=user)


@pytest.fixture
def parcel(user: User) -> Parcel:
    return create(Parcel(), actor=user)


@pytest.fixture
def page(browser: Any, live_server: Any, user: User) -> Iterator[Any]:
    """A page with somebody logged in, and `page.sent`: what it asked of the endpoints."""
    session = Client()
    session.force_login(user)
    context = browser.new_context(base_url=live_server.url)
    context.set_default_timeout(15_000)
    context.add_cookies(
        [{"name": name, "value": morsel.value, "url": live_server.url} for name, morsel in session.cookies.items()]
    )
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.sent = []
    opened.on("request", lambda request: opened.sent.append(request) if "/api/" in request.url else None)
    opened.goto("/page/")
    yield opened
    context.close()
    assert not errors


@pytest.fixture
def run(page: Any) -> Run:
    """Runs a piece of a module that has the client as `L`, clients for tickets and parcels, and an argument."""

    def evaluate(code: str, argument: Any = None) -> Any:
        return page.evaluate(
            f"""async (it) => {{
                window.L ??= await import("/static/lifecycle/client.js");
                window.tickets ??= L.lifecycle("/api/tickets/");
                window.parcels ??= L.lifecycle("/api/parcels/");
                {code}
            }}""",
            argument,
        )

    return evaluate
