"""The matrix: every supported Python with every supported Django. `nox -l` lists it; arguments go to pytest."""

from __future__ import annotations

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False

# Django 6 needs Python 3.12.
MATRIX = [
    ("3.11", "5.2"),
    *((python, django) for python in ("3.12", "3.13") for django in ("5.2", "6.0", "6.1")),
]


@nox.session
@nox.parametrize(("python", "django"), MATRIX)
def tests(session: nox.Session, django: str) -> None:
    """The suite on SQLite and PostgreSQL."""
    session.install("--editable", ".[dev]", f"Django~={django}.0")
    session.run("python", "-m", "tests", "-q", *session.posargs)
