"""The matrix: every supported Python with every supported Django, and the oldest versions of everything.

`nox -l` lists it; arguments go to pytest.
"""

from __future__ import annotations

from pathlib import Path

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


# Not mysql: its driver is compiled, from headers that few machines have.
EXTRAS = ("celery", "redis", "rest", "openapi", "postgres", "opentelemetry", "prometheus", "dev")
# Where the code meets other packages most.
ON_THE_LOWEST = (
    "tests/definition", "tests/columns", "tests/runtime", "tests/dispatch", "tests/processes", "tests/rest",
    "tests/contrib", "tests/testing", "tests/orders", "tests/client", "tests/house/test_wheel.py",
)  # fmt: skip


@nox.session(reuse_venv=True)
def lowest(session: nox.Session) -> None:
    """A part of the suite on the oldest versions that pyproject.toml allows."""
    session.install("uv")
    wanted = f".[{','.join(EXTRAS)}]"
    python = str(Path(session.bin) / "python")
    session.run("uv", "pip", "install", "--python", python, "--resolution", "lowest-direct", "--editable", wanted)
    session.run(
        "python", "-m", "tests.servers", "run", "--", python, "-m", "pytest", "-q", *(session.posargs or ON_THE_LOWEST)
    )
