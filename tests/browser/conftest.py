"""A real browser at a site that serves these tests' database, under the strict content security policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from lifecycle.testing import Kit
from orders.lifecycles import OrderLifecycle, StrayPaymentLifecycle
from tests.admin.story import Story
from tests.chromium import started
from tests.orders.provider import FakePayments, FakeServices

SECONDS = 15


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser; started once per file.

    Its driver keeps an event loop in this thread, and the tests' own queries are made between its steps: until it is
    stopped, Django must not mistake them for queries of asynchronous code.
    """
    with pytest.MonkeyPatch.context() as patch, started() as browser:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield browser


@pytest.fixture(autouse=True)
def as_the_example_site(settings: Any) -> None:
    """The addresses of the example site, and its policy: nothing inline, nothing from elsewhere."""
    settings.ROOT_URLCONF = "example_project.urls"
    settings.LOGIN_URL = "login"
    settings.MIDDLEWARE = ["example_project.headers.ContentSecurityPolicy", *settings.MIDDLEWARE]


@pytest.fixture
def story(chromium: Any, transactional_db: None, lifecycle: Kit) -> Iterator[Story]:
    """The shop in the middle of a day; its rows are committed, so that the site sees them."""
    fake = FakePayments()
    lifecycle.use_services(OrderLifecycle, FakeServices(payments=fake))
    lifecycle.use_services(StrayPaymentLifecycle, FakeServices(payments=fake))
    told = Story(lifecycle, fake)
    yield told
    told.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser's console complained about."""
    return []


@pytest.fixture
def page_of(chromium: Any, live_server: Any, complaints: list[str]) -> Iterator[Callable[..., Any]]:
    """A browser page in which somebody is logged in to the admin."""
    contexts = []

    def opened(user: Any, **options: Any) -> Any:
        context = chromium.new_context(
            base_url=live_server.url, **{"viewport": {"width": 1280, "height": 900}, **options}
        )
        context.set_default_timeout(SECONDS * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        # Logged in by a session of its own: the log-in page is Django's, and costs each test two pages more.
        session = Client()
        session.force_login(user)
        cookie = session.cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
        page.goto("/admin/")
        return page

    yield opened
    for context in contexts:
        context.close()
    # A refusal is a page with the status of one: what the test asked for, not a fault of the page.
    faults = [one for one in complaints if not one.startswith("Failed to load resource")]
    assert faults == []
