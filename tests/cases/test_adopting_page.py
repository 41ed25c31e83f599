"""The page on adopting a table, done on a table with rows, with a server of the old code beside it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.docs.test_tutorial import Newcomer

SETTINGS = """
INSTALLED_APPS += ["lifecycle", "contracts"]
DATABASES["default"]["OPTIONS"] = {
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}
LIFECYCLE = {"DISPATCHER": "lifecycle.dispatch.none.NoDispatcher"}
"""
OLD_MODELS = """
from django.db import models


class Contract(models.Model):
    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        SIGNED = "signed", "Signed"
        ENDED = "ended", "Ended"

    title = models.CharField(max_length=100)
    state = models.CharField(max_length=20, choices=State.choices, default=State.DRAFT)
"""
BEFORE = """
$ django-admin startproject archive .
$ python manage.py startapp contracts
"""


@pytest.mark.processes
@pytest.mark.row("K12", "L4")
def test_a_table_is_adopted_as_the_page_says_while_old_servers_insert(tmp_path: Path) -> None:
    newcomer = Newcomer(tmp_path, settings="archive.settings")
    newcomer.types(BEFORE, "before the page")
    for path, text in (("archive/settings.py", SETTINGS), ("contracts/models.py", OLD_MODELS)):
        there = (tmp_path / path).read_text() if "settings" in path else ""
        (tmp_path / path).write_text(there + text)
    newcomer.types("$ python manage.py makemigrations contracts\n$ python manage.py migrate", "before the page")
    old_server_inserts(tmp_path)
    for block in blocks(ROOT / "docs" / "how-to" / "adopt-an-existing-table.md"):
        if "lifecycle_adopt" in block.text and "2 adopted" in block.text:
            old_server_inserts(tmp_path)
        newcomer.does(block)


def old_server_inserts(folder: Path) -> None:
    """The INSERT of the code before: it knows three columns."""
    with sqlite3.connect(folder / "db.sqlite3") as connection:
        connection.execute("INSERT INTO contracts_contract (title, state) VALUES ('Lease', 'signed')")
    connection.close()
