"""The acceptance table, driven over HTTP against a stack of real processes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from example_project.acceptance import ROWS, Row
from tests.acceptance.stack import Demo
from tests.conftest import needed
from tests.servers import REDIS_HINT

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def checked() -> Iterator[Demo]:
    """One check of the whole table: on SQLite and files, or on PostgreSQL and a Redis of its own."""
    second = os.environ.get("LIFECYCLE_TEST_DATABASE", "sqlite") == "postgres"
    demo = Demo("--check", "--port", "0", mark="check", LIFECYCLE_STACK="postgres" if second else "sqlite")
    try:
        demo.ends(280)
        yield demo
    finally:
        demo.close()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_row_holds(checked: Demo, row: Row) -> None:
    (line,) = [line for line in checked.lines if f" {row.do}: " in line] or [str(checked)]
    if line.startswith("demo   | skipped") and row.needs_redis:
        if os.environ.get("LIFECYCLE_TEST_DATABASE") == "postgres":
            needed("Redis", "", REDIS_HINT)
        pytest.skip("runs in the second form, on PostgreSQL and Redis")
    assert line.startswith("demo   | ok "), str(checked)


def test_the_check_ends_with_the_count_and_leaves_nothing(checked: Demo) -> None:
    assert checked.process.returncode == 0, str(checked)
    assert checked.lines[-1].endswith(" passed, 0 failed"), str(checked)
    checked.leaves_nothing()
