"""The README's project, typed in from top to bottom as a newcomer would."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.newcomer import Newcomer, in_one_shell
from tests.docs.pages import ROOT, Block, blocks


def shown() -> list[Block]:
    """What the README has a reader type into a project of their own; commands without a prompt run for ever."""
    typed = [block for block in blocks(ROOT / "README.md") if block.language != "console" or "$ " in block.text]
    return in_one_shell(typed)


@pytest.mark.processes
def test_a_newcomer_who_types_the_readme_sees_what_it_says(tmp_path: Path) -> None:
    newcomer = Newcomer(tmp_path, settings="mysite.settings")
    newcomer.types("$ django-admin startproject mysite .\n$ python manage.py startapp team\n", "a project")
    for block in shown():
        newcomer.does(block)
    assert (tmp_path / "team" / "lifecycles.py").exists()


def test_the_lifecycle_of_the_readme_is_about_thirty_lines() -> None:
    """More would be a tutorial."""
    (code,) = [block.text for block in shown() if block.title == "team/lifecycles.py"]
    assert len([line for line in code.splitlines() if line.strip()]) <= 30
