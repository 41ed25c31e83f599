"""The tutorial, typed in from top to bottom as a newcomer would."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import pytest

from tests.docs.newcomer import Newcomer, in_one_shell
from tests.docs.pages import ROOT, blocks


@pytest.mark.processes
@pytest.mark.row("L12")
def test_a_newcomer_who_types_the_tutorial_sees_what_it_says(tmp_path: Path) -> None:
    newcomer = Newcomer(tmp_path)
    for block in in_one_shell(blocks(ROOT / "docs" / "tutorial.md")):
        newcomer.does(block)
    assert (tmp_path / "bookings" / "lifecycles.py").exists()
    tasks = "from restaurant.celery import app; app.loader.import_default_modules(); print(sorted(app.tasks))"
    assert "'lifecycle.drain', 'lifecycle.tick'" in newcomer.runs([sys.executable, "-c", tasks], "after the tutorial")


def test_a_session_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    parsed = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "sum", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(parsed, out=lambda _: None).failed == 1
