"""In a process of a test, the support team's effects leave a line in a file, and wait where the test says so."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

from django.apps import AppConfig

FOLDER = "LIFECYCLE_PROCESS_FOLDER"
HOLD = "hold"
JOURNAL = "journal"
LONGEST = 8.0  # below the effect's own timeout


class ProcessesConfig(AppConfig):
    name = "tests.processes"
    label = "processes"

    def ready(self) -> None:
        from lifecycle.execution import silence
        from tests.support import lifecycles

        silence.AFTER = float(os.environ.get("LIFECYCLE_PROCESS_SILENCE", silence.AFTER))
        lifecycles.behaviours["print_label"] = print_label
        lifecycles.DEFAULTS["print_label"] = print_label


def print_label(ctx: Any) -> dict[str, Any]:
    folder = Path(os.environ[FOLDER])
    note(folder, "start", ctx)
    wait_while_held(folder)
    note(folder, "end", ctx)
    return {"label": f"L-{ctx.attempt}"}


def note(folder: Path, what: str, ctx: Any) -> None:
    """One line, appended in one write: several processes share the file."""
    line = f"{what} {ctx.record.pk} {ctx.attempt} {ctx.idempotency_key} {os.getpid()}\n"
    with (folder / JOURNAL).open("a") as journal:
        journal.write(line)


def wait_while_held(folder: Path) -> None:
    """Stays in the effect while the test's file is there."""
    until, pause = time.monotonic() + LONGEST, threading.Event()
    while (folder / HOLD).exists() and time.monotonic() < until:
        pause.wait(0.02)
