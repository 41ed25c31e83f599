"""The commands people are told to type exist and are wired to each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.docs.pages import blocks

ROOT = Path(__file__).resolve().parent.parent.parent
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *(str(p) for p in Path("docs").rglob("*.md"))])
def test_every_make_command_on_a_page_is_a_target(page: str) -> None:
    text = (ROOT / page).read_text()
    told = set(re.findall(r"(?:^|`|&& |[A-Z_]+=\w+ )make ([a-z-]+)", text, re.MULTILINE))
    assert told <= TARGETS


def test_the_first_commands_of_the_readme_are_the_two_that_need_nothing_else() -> None:
    first = blocks(ROOT / "README.md")[0]
    assert re.findall(r"^make ([a-z-]+)", first.text, re.MULTILINE) == ["demo", "test"]


def test_every_target_is_phony_and_explained() -> None:
    phony = set(re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split())
    explained = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
    assert phony == TARGETS == explained


def test_the_ci_script_runs_from_any_folder_and_parses() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)


def test_the_ci_script_calls_what_the_readme_tells_people_to_type() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    for target in ("test", "check", "demo-check"):
        assert re.search(rf"make --no-print-directory {target}\b", script)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_an_old_python_is_told_what_to_do(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text(f"#!{sys.executable}\nimport sys\nsys.version_info = (3, 9, 18)\nexec(sys.argv[2])\n")
    old.chmod(0o755)
    ran = subprocess.run(
        ["make", "setup", f"PYTHON={old}", f"VENV={tmp_path}/venv"], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode != 0
    assert "Python 3.11 or newer is needed" in ran.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.django_db
def test_no_model_waits_for_a_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
