"""What every test may ask for, and which tests a pass runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import emptying, other_database, servers

# The library's own test kit: the fixture `lifecycle`; then what tests of effects that take their time share.
pytest_plugins = ["lifecycle.testing.plugin", "tests.execution.watched"]

HERE = Path(__file__).parent
# These look at the tree, not at a database.
ONCE = ("house", "docs")
WANTED = {"sqlite": "sqlite", "postgres": "postgres"}


def pytest_configure(config: pytest.Config) -> None:
    emptying.install()
    other_database.install()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`once` tests belong to the first pass; tests for one database are skipped on the other."""
    database = os.environ.get("LIFECYCLE_TEST_DATABASE", "sqlite")
    later = os.environ.get("LIFECYCLE_TEST_PASS") == "later"
    kept, left_out = [], []
    for item in items:
        folder = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        if folder in ONCE:
            item.add_marker("once")
        for marker, wanted in WANTED.items():
            if item.get_closest_marker(marker) and database != wanted:
                item.add_marker(pytest.mark.skip(reason=f"runs with LIFECYCLE_TEST_DATABASE={wanted}"))
        (left_out if later and item.get_closest_marker("once") else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


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
    """The replaceable effects of the help desk; put back after each test."""
    from tests.desk import lifecycles

    lifecycles.calls.clear()
    lifecycles.behaviours.clear()
    lifecycles.behaviours.update(lifecycles.DEFAULTS)
    yield lifecycles.behaviours
    lifecycles.behaviours.clear()
    lifecycles.behaviours.update(lifecycles.DEFAULTS)
