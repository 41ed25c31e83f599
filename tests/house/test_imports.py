"""What importing the library costs and needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_library_imports_without_settings_and_loads_neither_the_orm_nor_celery_nor_drf() -> None:
    ran = python(
        "import sys, lifecycle\n"
        "heavy = ('django.db', 'celery', 'kombu', 'rest_framework', 'django_filters')\n"
        "print(sorted(name for name in sys.modules if name in heavy))"
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "[]"), ran.stderr


def test_everything_the_front_door_names_is_there() -> None:
    ran = python("import lifecycle\nfor name in lifecycle.__all__:\n    getattr(lifecycle, name)\nprint('fine')")
    assert (ran.returncode, ran.stdout.strip()) == (0, "fine"), ran.stderr
