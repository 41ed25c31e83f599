"""What a reader of the README types first, and the sandbox beside a project's own settings."""

from __future__ import annotations

import ast
import doctest
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

import lifecycle
from lifecycle.checks import databases
from orders.sandbox.models import Switches
from tests.docs.pages import ROOT, blocks
from tests.sandbox.conftest import SECRET, TOKEN, Api


@pytest.mark.once
@pytest.mark.row("M13")
def test_every_word_of_the_library_in_the_readmes_code_is_imported_in_it_as_it_reads() -> None:
    shown = [block for block in blocks(ROOT / "README.md") if block.language in ("python", "pycon")]
    code = [ast.parse(doctest.script_from_examples(one.text) if one.language == "pycon" else one.text) for one in shown]
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
def test_every_verb_can_be_imported_from_the_package_and_is_the_runtimes_own() -> None:
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


# Beside other names and other databases ------------------------------------------------------------------------------


RELABELLED = """
from django.apps import AppConfig

class Own(AppConfig):
    name = "shop.lifecycle"
    label = "shop_own"
"""


def started(tmp_path: Path, installed: str) -> str:
    """What a project that has an app of its own called `lifecycle` hears at its start."""
    package = tmp_path / "shop" / "lifecycle"
    package.mkdir(parents=True)
    (tmp_path / "shop" / "__init__.py").touch()
    (package / "__init__.py").touch()
    relabelled = (
        "from django.apps import AppConfig\nclass Own(AppConfig):\n    name = 'shop.lifecycle'\n    label = 'shop_own'"
    )
    (package / "relabelled.py").write_text(relabelled)
    program = (
        f"import django; from django.conf import settings; settings.configure(INSTALLED_APPS={installed})\n"
        "try: django.setup(); print('fine')\nexcept Exception as error: print(type(error).__name__, error)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ran.stdout + ran.stderr


@pytest.mark.once
@pytest.mark.row("L14")
@pytest.mark.parametrize("order", [1, -1])
def test_an_app_of_ones_own_with_our_label_is_told_to_take_another(tmp_path: Path, order: int) -> None:
    apps = ["django.contrib.contenttypes", "lifecycle", "shop.lifecycle"][::order]

    said = started(tmp_path, repr(apps))

    assert "The app 'shop.lifecycle' has the label 'lifecycle', which belongs to this library" in said
    assert "label = 'shop_lifecycle'" in said


@pytest.mark.once
@pytest.mark.row("L14")
def test_an_app_of_ones_own_called_lifecycle_lives_beside_ours_under_another_label(tmp_path: Path) -> None:
    apps = ["django.contrib.contenttypes", "lifecycle", "shop.lifecycle.relabelled.Own"]
    assert started(tmp_path, repr(apps)).strip() == "fine"


@pytest.mark.row("L14")
def test_a_replica_that_workers_would_serve_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert databases.workers_leave_replicas_alone(None) == []
    monkeypatch.setitem(connection.settings_dict["TEST"], "MIRROR", "primary")
    (said,) = databases.workers_leave_replicas_alone(None)
    assert said.id == "lifecycle.W126"
    assert "DATABASES['default'] mirrors 'primary'" in said.msg
    monkeypatch.setattr(databases.router, "allow_migrate_model", lambda *_: False)
    assert databases.workers_leave_replicas_alone(None) == []


@pytest.mark.row("L14")
def test_tenants_by_schema_are_told_what_a_worker_serves(settings: Any) -> None:
    assert databases.tenants_have_workers(None) == []
    settings.TENANT_MODEL, settings.TENANT_APPS = "shop.Tenant", ["shop"]
    (said,) = databases.tenants_have_workers(None)
    assert "'lifecycle' is not in TENANT_APPS" in said.msg
    settings.TENANT_APPS = ["shop", "lifecycle"]
    (said,) = databases.tenants_have_workers(None)
    assert (said.id, said.hint[:25]) == ("lifecycle.W127", "Start a worker per schema")
