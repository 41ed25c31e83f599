"""Ground: the folder and the port a demo stands on, chosen before Django reads its settings.

A demo's data lies in ``var/demo`` (or ``EXAMPLE_DATA_DIR``), where a second terminal's ``manage.py shell`` finds it and
where effects that were pending when the demo was killed wait for the next one. While another demo stands there, and for
``--check``, it is a folder of its own that is removed at the end.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from example_project import ownredis

BASE_DIR = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
PORTS = 20  # so many are tried, from the one that was asked for

# A check does not wait for what people have time for.
BRISK = {"EXAMPLE_LEASE": "12", "EXAMPLE_TICK_EVERY": "0.5", "EXAMPLE_CRASH_BACKOFF": "0.5"}


@dataclass(kw_only=True)
class Ground:
    """What a demo holds for as long as it runs."""

    folder: Path
    temporary: bool
    lock: IO[str] | None
    listener: socket.socket
    redis_port: int | None = None  # of a Redis that is this demo's alone
    notes: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def leave(self) -> None:
        """Gives everything back; safe to call twice."""
        self.listener.close()
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif self.lock is not None:
            self.lock.close()


chosen: Ground | None = None


def choose(arguments: Sequence[str]) -> None:
    """Chooses folder and port from the command's arguments, and tells the settings through the environment."""
    global chosen  # noqa: PLW0603 - one process runs one demo
    if {"-h", "--help"} & set(arguments):
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)  # until the command has handlers of its own, every stop is a Ctrl-C
    parser = argparse.ArgumentParser(prog="manage.py demo", add_help=False)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    wanted, _ = parser.parse_known_args(arguments)
    folder, lock = _folder(alone=wanted.check)
    chosen = Ground(folder=folder, temporary=lock is None, lock=lock, listener=_listener(wanted.port))
    if lock is None and not wanted.check:
        chosen.notes.append("another demo is running; this one's orders go at its end")
    if wanted.port not in (0, chosen.port):
        chosen.notes.append(f"port {wanted.port} is in use; using {chosen.port}")
    if wanted.fresh and lock is not None:
        _forget(folder)
    for name in ("broker", "control"):
        (folder / name).mkdir(exist_ok=True)
    os.environ["EXAMPLE_DATA_DIR"] = str(folder)
    os.environ["EXAMPLE_URL"] = chosen.url
    if chosen.temporary:
        os.environ["EXAMPLE_DATABASE"] = f"lifecycle_demo_{os.getpid()}"
    if wanted.check:
        os.environ.update(BRISK)
        chosen.redis_port = _redis_port()


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _redis_port() -> int | None:
    """The port of a Redis that a row of the check may stop, told to the settings; None where there is none to start."""
    if os.environ.get("LIFECYCLE_STACK") != "postgres" or ownredis.executable() is None:
        return None
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = int(free.getsockname()[1])
    os.environ["REDIS_URL"] = f"redis://{HOST}:{port}/0"
    return port


def leave() -> None:
    """Gives the chosen ground back, if any was chosen."""
    if chosen is not None:
        chosen.leave()


def _folder(*, alone: bool) -> tuple[Path, IO[str] | None]:
    if not alone:
        folder = Path(os.environ.get("EXAMPLE_DATA_DIR") or BASE_DIR / "var" / "demo")
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
        else:
            return folder, lock
    return Path(tempfile.mkdtemp(prefix="lifecycle-demo-")), None


def _forget(folder: Path) -> None:
    """Removes what earlier demos have left; the lock, which is held, stays."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()


def _listener(port: int) -> socket.socket:
    """A bound socket: who holds it cannot lose the port to anybody between here and the first request."""
    for candidate in [port] if port == 0 else range(port, min(port + PORTS, 65536)):
        listener = socket.socket()
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, candidate))
        except OSError:
            listener.close()
        else:
            # Bound is not enough on its own: two sockets may be bound with SO_REUSEADDR until one of them listens.
            try:
                listener.listen(64)
            except OSError:
                listener.close()
            else:
                return listener
    sys.exit(f"Ports {port} to {port + PORTS - 1} are all in use; choose another with --port.")
