"""The how-to page on tests: its tests are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, blocks


def test_the_tests_on_the_page_about_tests_pass(tmp_path: Path) -> None:
    shown = [block for block in blocks(ROOT / "docs" / "how-to" / "write-tests.md") if block.title]
    assert [block.title for block in shown] == ["test_orders.py"]
    page = tmp_path / "test_orders.py"
    page.write_text(shown[0].text)
    environment = {**os.environ, "LIFECYCLE_TEST_DATABASE": "sqlite", "LIFECYCLE_TEST_SUFFIX": f"_page{os.getpid()}"}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "pyproject.toml", "-p", "no:cacheprovider", page],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "3 passed" in ran.stdout
