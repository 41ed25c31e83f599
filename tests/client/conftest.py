"""A real browser on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from lifecycle import dispatch
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.runtime import create
from tests import chromium
from tests.rest.conftest import user_with
from tests.support.models import Parcel, Ticket

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    # Its driver runs an event loop in this thread, and Django would take every query of a test for one inside it.
    with pytest.MonkeyPatch.context() as patch, chromium.started() as browser:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield browser


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
