"""What ``import lifecycle`` costs, and what user code looks like to a type checker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

LIGHT = """
import sys, time
began = time.perf_counter()
import lifecycle
took = time.perf_counter() - began

class Gates(lifecycle.Lifecycle[object]):
    class Meta:
        name = "gates"
        states = ["open", "closed"]
        initial = "open"
        final = "closed"
    close = lifecycle.Transition("open", "closed")

assert Gates.definition.hash
from django.conf import settings
assert not settings.configured
heavy = ("django.db", "celery", "kombu", "rest_framework", "cattrs", "django.forms")
print(sorted({name for name in sys.modules for part in heavy if name == part or name.startswith(part + ".")}))
print(took)
"""


@pytest.mark.once
def test_importing_and_declaring_needs_no_settings_and_loads_neither_orm_nor_celery_nor_rest() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    loaded, took = done.stdout.splitlines()
    assert loaded == "[]"
    assert float(took) < 2.0  # a tenth of it on an idle machine


@pytest.mark.once
def test_user_code_passes_a_strict_type_checker_without_a_plugin(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--no-error-summary"),
            *("--cache-dir", str(tmp_path), "--follow-imports", "silent", "tests/definition/typed.py"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
    )
    told = [line.split(": ", 1) for line in done.stdout.splitlines() if ": error: " in line]
    wanted = [
        f"tests/definition/typed.py:{number}"
        for number, line in enumerate((ROOT / "tests/definition/typed.py").read_text().splitlines(), start=1)
        if "# refused" in line
    ]
    assert list(dict.fromkeys(place for place, _ in told)) == wanted, done.stdout + done.stderr
