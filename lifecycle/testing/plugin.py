"""The pytest plugin: the fixture ``lifecycle``, and ``--lifecycle-walk`` for what no test has reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lifecycle.testing.kit import Kit

# Loaded before Django is set up: what needs models is imported where it is used.


@pytest.fixture
def lifecycle() -> Iterator[Kit]:
    """The test kit; everything arranged with it is put back when the test ends."""
    from lifecycle.testing.kit import Kit

    with Kit() as kit:
        yield kit


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--lifecycle-walk``."""
    parser.getgroup("lifecycle").addoption(
        "--lifecycle-walk",
        action="append",
        default=[],
        metavar="NAME",
        help="After the tests, tell which transitions of this lifecycle none of them has fired. May be repeated.",
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begins to remember what is fired, where somebody will ask."""
    if session.config.getoption("--lifecycle-walk"):
        from lifecycle.testing import walking

        walking.start()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tells how far the tests came."""
    names = config.getoption("--lifecycle-walk")
    if not names:
        return
    from lifecycle.testing import walking

    terminalreporter.section("lifecycle walk")
    for name in names:
        terminalreporter.write_line(str(walking.walk(name)))
