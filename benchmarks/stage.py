"""The stage: a throw-away database with the benchmark's tables, on SQLite or PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SQLITE = {
    "ENGINE": "django.db.backends.sqlite3",
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    },
}


def postgres(name: str) -> dict[str, Any]:
    """The PostgreSQL that the environment names (PGHOST …), by default the one on loopback."""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": os.environ.get("PGUSER", "postgres"),
        "PASSWORD": os.environ.get("PGPASSWORD", ""),
        "HOST": os.environ.get("PGHOST", "127.0.0.1"),
        "PORT": os.environ.get("PGPORT", "5432"),
        "CONN_MAX_AGE": None,
    }


@contextlib.contextmanager
def standing(engine: str, **options: Any) -> Iterator[None]:
    """Configures Django with the benchmark's app on a fresh database, and removes it at the end."""
    import django
    from django.conf import settings

    folder = Path(tempfile.mkdtemp(prefix="lifecycle-bench-"))
    database: dict[str, Any] = (
        {**SQLITE, "NAME": str(folder / "db.sqlite3")} if engine == "sqlite" else postgres("postgres")
    )
    settings.configure(
        SECRET_KEY="benchmark",
        USE_TZ=True,
        DATABASES={"default": database},
        INSTALLED_APPS=[
            "django.contrib.contenttypes",
            "django.contrib.auth",
            "lifecycle",
            "benchmarks.bench",
        ],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        LIFECYCLE={"DISPATCHER": "lifecycle.dispatch.none.NoDispatcher", **options.pop("lifecycle", {})},
        **options,
    )
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    name = f"lifecycle_bench_{os.getpid()}"
    if engine != "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
        connection.close()
        connection.settings_dict["NAME"] = name
    try:
        call_command("migrate", run_syncdb=True, verbosity=0)
        yield
    finally:
        connection.close()
        if engine != "sqlite":
            connection.settings_dict["NAME"] = "postgres"
            with connection.cursor() as cursor:
                cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
            connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def interleaved(candidates: dict[str, Callable[[], None]], *, rounds: int, calls: int) -> dict[str, float]:
    """Median seconds per call of each candidate, measured alternately: a slow minute of the machine hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    for lap in range(rounds + 1):
        names = list(candidates)
        for name in names[lap % len(names) :] + names[: lap % len(names)]:
            work = candidates[name]
            start = time.perf_counter()
            for _ in range(calls):
                work()
            if lap:  # the first lap warms caches up
                taken[name].append((time.perf_counter() - start) / calls)
    return {name: statistics.median(times) for name, times in taken.items()}
