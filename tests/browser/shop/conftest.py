"""The browser, and the example it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests import servers
from tests.browser.shop.stage import Stage
from tests.chromium import started, there
from tests.conftest import needed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.shop.people import Person, Provider


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Debian's chromium; not for the session, because its loop must not run under tests that use the database."""
    with started() as browser:
        yield browser


@pytest.fixture(scope="package")
def stage() -> Iterator[Stage]:
    """The example with a real worker, on SQLite and files."""
    there()
    with Stage(LIFECYCLE_STACK="sqlite") as running:
        yield running


@pytest.fixture
def stage_on_redis() -> Iterator[Stage]:
    """The example in its second form, on PostgreSQL and a Redis of its own."""
    there()
    needed("PostgreSQL", servers.postgres_version(), servers.POSTGRES_HINT)
    with Stage(LIFECYCLE_STACK="postgres") as running:
        yield running


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
def comes(chromium: Browser, stage: Stage, problems: list[str]) -> Iterator[Callable[..., Person]]:
    """Lets somebody come who stays until the module's last test."""
    with people(chromium, stage, problems) as one_comes:
        yield one_comes


@pytest.fixture
def person(chromium: Browser, stage: Stage, problems: list[str]) -> Iterator[Callable[..., Person]]:
    """Lets somebody come who leaves after the test: a page that stays open goes on refreshing itself."""
    with people(chromium, stage, problems) as one_comes:
        yield one_comes


@contextmanager
def people(chromium: Browser, stage: Stage, problems: list[str]) -> Iterator[Callable[..., Person]]:
    """Those who come are logged in; options are the browser's (language, theme, size)."""
    from tests.browser.shop.people import Person

    here: list[Person] = []

    def one_comes(name: str = "admin", at: Stage = stage, **options: Any) -> Person:
        here.append(Person(chromium, at.url, problems, **options))
        return here[-1].log_in(name)

    yield one_comes
    for one in here:
        one.close()


@pytest.fixture(scope="module")
def admin(comes: Callable[..., Person]) -> Person:
    return comes("admin")


@pytest.fixture(scope="module")
def clerk(comes: Callable[..., Person]) -> Person:
    return comes("clerk")
