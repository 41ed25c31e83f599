"""Child processes of a test: workers with a real pool, watched, stopped and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection

from tests.processes.apps import FOLDER, HOLD, JOURNAL

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Line:
    """What an effect noted: start or end of an attempt, in which process."""

    what: str
    record_id: str
    attempt: int
    key: str
    pid: int


class Child:
    """A started process in a process group of its own."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def terminate(self) -> None:
        """Asks politely, as a deployment does."""
        self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9 of everything it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait(10)


class Stage:
    """The folder, the children and the waiting of one test."""

    def __init__(self, folder: Path, broker: str | None = None) -> None:
        self.folder = folder
        self.children: list[Child] = []
        self.environment = {
            "DJANGO_SETTINGS_MODULE": "tests.processes.settings",
            "LIFECYCLE_PROCESS_DATABASE": str(connection.settings_dict["NAME"]),
            "LIFECYCLE_PROCESS_TICK": "0.5",
            FOLDER: str(folder),
            "PYTHONWARNINGS": "ignore",
        }
        if broker is not None:
            self.environment["LIFECYCLE_PROCESS_BROKER"] = broker

    def celery_worker(self, *, concurrency: int = 2, **environment: str) -> Child:
        command = [
            *(sys.executable, "-m", "celery", "-A", "tests.processes.app", "worker", "-c", str(concurrency)),
            *("--pool", "prefork", "--loglevel", "INFO"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        ]
        return self._start("celery", command, environment)

    def lifecycle_worker(self, *arguments: str, **environment: str) -> Child:
        command = [sys.executable, "-m", "django", "lifecycle_worker", *arguments]
        return self._start("lifecycle_worker", command, environment)

    def _start(self, name: str, command: list[str], environment: dict[str, str]) -> Child:
        child = Child(name, command, {**self.environment, **environment}, self.folder)
        self.children.append(child)
        return child

    def hold_effects(self) -> None:
        """From now on effects stay inside until `let_go`."""
        (self.folder / HOLD).touch()

    def let_go(self) -> None:
        (self.folder / HOLD).unlink(missing_ok=True)

    def journal(self, what: str | None = None) -> list[Line]:
        """What the effects noted so far."""
        path = self.folder / JOURNAL
        lines = []
        for text in path.read_text().splitlines() if path.exists() else []:
            kind, record_id, attempt, key, pid = text.split()
            lines.append(Line(kind, record_id, int(attempt), key, int(pid)))
        return [line for line in lines if what in (None, line.what)]

    def wait_until(self, what: str, probe: Callable[[], Any], seconds: float = 30.0) -> Any:
        """The probe's first true answer; fails with the children's last lines when none comes or a child ends."""
        until, pause = time.monotonic() + seconds, threading.Event()
        while True:
            answer = probe()
            if answer:
                return answer
            dead = [child.name for child in self.children if child.ended]
            if dead or time.monotonic() > until:
                tails = "\n".join(f"--- {child.name}\n{child.output[-3000:]}" for child in self.children)
                raise AssertionError(f"Waited for {what}; ended: {dead or 'nobody'}.\n{tails}")
            pause.wait(0.02)

    def wait_for_end(self, child: Child, seconds: float = 30.0) -> int:
        """The child's exit code, once it has ended by itself."""
        self.children.remove(child)
        try:
            return child.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.children.append(child)
            raise AssertionError(f"{child.name} did not end.\n{child.output[-3000:]}") from None

    def kill(self, child: Child) -> None:
        """A death the test wants."""
        self.children.remove(child)
        child.kill()


@contextmanager
def stage(folder: Path, broker: str | None = None) -> Iterator[Stage]:
    """A stage whose children are all gone afterwards."""
    made = Stage(folder, broker)
    try:
        yield made
    finally:
        for child in made.children:
            child.kill()
