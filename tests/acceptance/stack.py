"""The demo command as a process, watched from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MARK = "LIFECYCLE_DEMO_UNDER_TEST"


class Demo:
    """A running ``manage.py demo``; every process it starts carries a mark in its environment."""

    def __init__(self, *arguments: str, mark: str, **environment: str) -> None:
        self.mark = f"{mark}-{os.getpid()}"
        self.form = environment.get("LIFECYCLE_STACK", "sqlite")
        self.lines: list[str] = []
        # The demo chooses its own database and broker: those of the suite are not its business.
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("EXAMPLE_", "LIFECYCLE_"))}
        ours.pop("DJANGO_SETTINGS_MODULE", None)
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "demo", *arguments],
            cwd=ROOT,
            env={**ours, MARK: self.mark, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def said(self, pattern: str, seconds: float = 60) -> str:
        """Waits for a line that matches; returns the first group, or the line."""

        def look() -> str | None:
            for line in list(self.lines):
                match = re.search(pattern, line)
                if match:
                    return match[1] if match.groups() else line
            assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self}"
            return None

        return str(until(f"{pattern!r} in the output", look, seconds, self))

    def processes(self) -> list[int]:
        """Everything alive that carries the mark; a zombie is not."""
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def worker(self) -> int:
        """The worker's process."""
        others = [pid for pid in self.processes() if pid != self.process.pid]
        assert others, f"there is no worker:\n{self}"
        return min(others)

    def signal(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def ends(self, seconds: float = 20) -> int:
        """Waits for the end of the command; returns its exit code."""
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code

    def leaves_nothing(self, seconds: float = 10) -> None:
        until("nothing is left", lambda: not self.processes(), seconds, self)

    def close(self) -> None:
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(10)
        self._reader.join(5)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __str__(self) -> str:
        return "\n".join(self.lines[-40:])


def until(what: str, probe: Callable[[], Any], seconds: float, demo: Demo) -> Any:
    """Waits for a true answer; on the time limit fails with what the demo said last."""
    limit = time.monotonic() + seconds
    pause = threading.Event()
    while not (answer := probe()):
        assert time.monotonic() < limit, f"{what}: not within {seconds:g} s; the demo said\n{demo}"
        pause.wait(0.05)
    return answer
