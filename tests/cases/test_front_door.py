"""What a reader of the README types first, and the sandbox beside a project's own settings."""

from __future__ import annotations

import ast
import time
from typing import Any

import pytest
from django.db import connection

import lifecycle
from orders.sandbox.models import Switches
from tests.docs.pages import ROOT, blocks
from tests.sandbox.conftest import SECRET, TOKEN, Api


@pytest.mark.once
@pytest.mark.row("M13")
def test_every_word_of_the_library_in_the_readmes_code_is_imported_in_it_as_it_reads() -> None:
    code = [ast.parse(block.text) for block in blocks(ROOT / "README.md") if block.language == "python"]
    nodes = [node for tree in code for node in ast.walk(tree)]
    imported = {
        name.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "lifecycle"
        for name in node.names
    }
    used = {node.id for node in nodes if isinstance(node, ast.Name)} & set(lifecycle.__all__)
    assert "create" in used
    assert used <= imported
    assert [name for name in imported if not hasattr(lifecycle, name)] == []


@pytest.mark.row("M13")
def test_every_verb_can_be_imported_from_the_front_door_and_is_the_runtimes_own() -> None:
    from lifecycle import runtime

    verbs = [name for name in runtime.__all__ if name != "parameters"]
    assert [name for name in verbs if getattr(lifecycle, name) is not getattr(runtime, name)] == []
    with pytest.raises(AttributeError, match="module 'lifecycle' has no attribute 'creat'"):
        lifecycle.creat  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("M13")
def test_a_slow_provider_holds_no_transaction_under_atomic_requests(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ROOT_URLCONF = "example_project.urls"
    settings.SANDBOX = {"TOKEN": TOKEN, "WEBHOOK_URL": "http://127.0.0.1:1/", "WEBHOOK_SECRETS": [SECRET]}
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    Switches.objects.update_or_create(pk=1, defaults={"latency_seconds": 3})
    slept: list[tuple[float, bool]] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: slept.append((seconds, connection.in_atomic_block)))

    answer = Api().open_session()

    assert answer.status_code == 201
    assert (3, False) in slept
    assert (3, True) not in slept
