"""Child: a process of the demo that cannot outlive it, with its output told line by line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from example_project.ground import BASE_DIR

GRACE = 8.0  # seconds between the polite stop and the other one


class Teller:
    """Writes ``name   | line``, one line at a time whoever speaks."""

    COLOURS = {"demo": "36", "web": "32", "worker": "33", "redis": "35"}

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def __call__(self, name: str, line: str) -> None:
        prefix = f"{name:<6} |"
        if self._coloured:
            prefix = f"\033[{self.COLOURS.get(name, '37')}m{prefix}\033[0m"
        with self._lock:
            print(prefix, line, flush=True)  # noqa: T201 - this is the command's output


class Child:
    """A Python module run under the guard, in a process group of its own."""

    def __init__(self, name: str, module: Sequence[str], tell: Teller, environment: Mapping[str, str]) -> None:
        self.name = name
        self.lines: deque[str] = deque(maxlen=20)
        self._tell = tell
        # The pipe is never written to: its end tells the guard that this process is gone.
        self.process = subprocess.Popen(  # noqa: S603 - our own modules
            [sys.executable, "-m", "example_project.guard", *module],
            cwd=BASE_DIR,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            process_group=0,
        )
        self._pump = threading.Thread(target=self._read, name=f"{name} output", daemon=True)
        self._pump.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip():
                self.lines.append(line.rstrip())
                self._tell(self.name, line.rstrip())

    @property
    def ended(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self.process.poll()

    def ask_to_stop(self) -> None:
        """The polite stop, to the leader alone: it knows what to do with the rest."""
        if self.ended is None:
            self.process.send_signal(signal.SIGTERM)

    def wait(self, hurry: threading.Event) -> None:
        """Waits for the end; after the grace, or as soon as somebody is in a hurry, ends it."""
        limit = GRACE
        while self.ended is None and limit > 0 and not hurry.is_set():
            try:
                self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                limit -= 0.05
        self.kill()

    def kill(self) -> None:
        """Ends the whole group at once; also sweeps up what a leader that is gone has left."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._pump.join(2)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
