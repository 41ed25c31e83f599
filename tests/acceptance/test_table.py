"""The acceptance table, driven over HTTP against a stack of real processes."""

from __future__ import annotations

import pytest

from example_project.acceptance import ROWS, Row
from tests import servers
from tests.acceptance.conftest import FORMS
from tests.acceptance.stack import Demo
from tests.conftest import needed

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", params=FORMS)
def checked(request: pytest.FixtureRequest, checks: dict[str, Demo]) -> Demo:
    """One check of the whole table: on SQLite and files, or on PostgreSQL and a Redis of its own."""
    if request.param not in checks:
        needed("PostgreSQL", "", servers.POSTGRES_HINT)
    demo = checks[request.param]
    demo.ends(280)
    return demo


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_row_holds(checked: Demo, row: Row) -> None:
    (line,) = [line for line in checked.lines if f" {row.do}: " in line] or [str(checked)]
    if line.startswith("demo   | skipped") and row.needs_redis:
        if checked.form == "postgres":
            needed("Redis", "", servers.REDIS_HINT)
        pytest.skip("runs in the second form, on PostgreSQL and Redis")
    assert line.startswith("demo   | ok "), str(checked)


def test_the_check_ends_with_the_count_and_leaves_nothing(checked: Demo) -> None:
    assert checked.process.returncode == 0, str(checked)
    assert checked.lines[-1].endswith(" passed, 0 failed"), str(checked)
    checked.leaves_nothing()
