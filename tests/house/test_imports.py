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


def test_everything_the_package_exports_is_there() -> None:
    """What needs Django's models is imported when it is asked for; the rest needs no settings."""
    ran = python(
        "import lifecycle\n"
        "from lifecycle import _LATER\n"
        "for name in set(lifecycle.__all__) - set(_LATER):\n    getattr(lifecycle, name)\n"
        "assert set(_LATER) < set(lifecycle.__all__) <= set(dir(lifecycle))\n"
        "from django.conf import settings\n"
        "settings.configure(INSTALLED_APPS=['django.contrib.contenttypes', 'lifecycle'])\n"
        "import django; django.setup()\n"
        "from lifecycle import *\n"
        "print(sorted(set(lifecycle.__all__) - set(globals())), create.__module__)"
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "[] lifecycle.runtime.verbs.creation"), ran.stderr
