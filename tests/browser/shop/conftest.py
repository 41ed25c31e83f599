"""The browser, and the example it looks at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.shop.stage import Stage
from tests.conftest import needed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.shop.people import Person, Provider

CHROMIUM = shutil.which("chromium") or ""
HINT = "install Debian's package chromium"
# No window, no sandbox of its own (the suite may run as root), and no request of its own to anywhere.
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Debian's chromium; one per module, because its loop must not run under tests that use the database."""
    needed("chromium", CHROMIUM, HINT)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """The example with a real worker: on SQLite and files, or on PostgreSQL and a Redis of its own."""
    needed("chromium", CHROMIUM, HINT)
    second = os.environ.get("LIFECYCLE_TEST_DATABASE", "sqlite") == "postgres"
    running = Stage(LIFECYCLE_STACK="postgres" if second else "sqlite")
    yield running
    running.close()


@pytest.fixture(scope="module")
def provider(stage: Stage) -> Iterator[Provider]:
    from tests.browser.shop.people import Provider

    console = Provider(stage.url)
    yield console
    console.close()


@pytest.fixture(scope="module")
def problems() -> list[str]:
    """What any page complained about: script errors, refused by the policy, warnings."""
    return []


@pytest.fixture(autouse=True)
def no_page_complains(problems: list[str]) -> Iterator[None]:
    problems.clear()
    yield
    assert problems == []


@pytest.fixture(scope="module")
def person(chromium: Browser, stage: Stage, problems: list[str]) -> Iterator[Callable[..., Person]]:
    """Somebody who is logged in; options are the browser's (language, theme, size)."""
    from tests.browser.shop.people import Person

    people: list[Person] = []

    def comes(name: str = "admin", **options: Any) -> Person:
        people.append(Person(chromium, stage.url, problems, **options))
        return people[-1].log_in(name)

    yield comes
    for one in people:
        one.close()


@pytest.fixture(scope="module")
def admin(person: Callable[..., Person]) -> Person:
    return person("admin")


@pytest.fixture(scope="module")
def clerk(person: Callable[..., Person]) -> Person:
    return person("clerk")
