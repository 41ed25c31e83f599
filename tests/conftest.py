"""What every test may ask for, and which tests a pass runs."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import emptying, other_database, servers

# The library's own test kit: the fixture `lifecycle`; then what tests of effects that take their time share.
pytest_plugins = ["lifecycle.testing.plugin", "tests.execution.watched"]

HERE = Path(__file__).parent
# These look at the tree or at plain Python, not at a database.
ONCE = ("house", "docs", "definition")
# These watch the running example, which brings its own databases, and wait most of the time: a pass of their own.
EXAMPLE = ("acceptance", "browser/shop")
WANTED = {"sqlite": "sqlite", "postgres": "postgres"}
# Which of the passes that tests/__main__.py starts side by side this is; on its own a pytest runs everything.
PASS = os.environ.get("LIFECYCLE_TEST_PASS", "only")


def pytest_configure(config: pytest.Config) -> None:
    emptying.install()
    other_database.install()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """What another pass runs is not even imported."""
    if not collection_path.is_relative_to(HERE) or collection_path == HERE:
        return None
    here = collection_path.relative_to(HERE)
    leads_to_the_example = any((HERE / name).is_relative_to(collection_path) for name in EXAMPLE)
    if PASS == "only" or (leads_to_the_example and not stands_in(here, EXAMPLE)):
        return None
    return not belongs(here, once=stands_in(here, ONCE)) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What another pass runs is left out; tests for one database are skipped on the other."""
    database = os.environ.get("LIFECYCLE_TEST_DATABASE", "sqlite")
    kept, left_out = [], []
    for item in items:
        here = item.path.relative_to(HERE) if item.path.is_relative_to(HERE) else Path()
        if stands_in(here, ONCE) or stands_in(here, EXAMPLE):
            item.add_marker("once")
        for marker, wanted in WANTED.items():
            if item.get_closest_marker(marker) and database != wanted:
                item.add_marker(pytest.mark.skip(reason=f"runs with LIFECYCLE_TEST_DATABASE={wanted}"))
        once = item.get_closest_marker("once") is not None
        (kept if belongs(here, once=once) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@settings(max_examples=1, database=None)
@given(st.none())
def _once(nothing: None) -> None:
    """The least that Hypothesis can be asked for."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Modules and tests stay until the end: the garbage collector need not walk through them again and again."""
    _once()  # Hypothesis looks for whoever refers to its random numbers, and would not see what is frozen
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def belongs(here: Path, *, once: bool) -> bool:
    """Whether this pass runs what stands here."""
    if PASS == "only":
        return True
    if stands_in(here, EXAMPLE) or PASS == "example":
        return PASS == "example" and stands_in(here, EXAMPLE)
    return PASS == "first" or not once


def stands_in(here: Path, folders: tuple[str, ...]) -> bool:
    return any(here.is_relative_to(folder) for folder in folders)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("redis"):
        needed("Redis", servers.redis_version(servers.redis_address()), servers.REDIS_HINT)


def needed(what: str, version: str, hint: str) -> None:
    """Skip the test without its server; on CI a missing server is an error."""
    if version:
        return
    sentence = f"No {what} answers: {hint}."
    if servers.required():
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)


@pytest.fixture
def redis_url() -> str:
    """The address of the Redis of this run; its databases are shared, so clean up by key."""
    url = servers.redis_address()
    needed("Redis", servers.redis_version(url), servers.REDIS_HINT)
    return url


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[servers.OwnRedis]:
    """A started Redis of this test's own: `kill()`, `freeze()`, `thaw()`, `start()` at the same `url`."""
    server = servers.OwnRedis(tmp_path / "redis")
    server.start()
    yield server
    server.close()


@pytest.fixture
def other(transactional_db: None) -> Iterator[str]:
    """The alias of another database that holds our tables and the tests' own; emptied afterwards."""
    with other_database.standing() as alias:
        yield alias


@pytest.fixture(autouse=True)
def behave() -> Iterator[dict[str, object]]:
    """The replaceable effects of the support team; put back after each test."""
    from tests.support import lifecycles

    lifecycles.calls.clear()
    lifecycles.behaviours.clear()
    lifecycles.behaviours.update(lifecycles.DEFAULTS)
    yield lifecycles.behaviours
    lifecycles.behaviours.clear()
    lifecycles.behaviours.update(lifecycles.DEFAULTS)
