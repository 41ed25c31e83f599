"""The whole suite: on SQLite, on PostgreSQL and at the running example, side by side. Arguments go to pytest."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from tests import servers

NOTHING_COLLECTED = 5
# With one of these, somebody at the keyboard is asked, or sees what a test prints: the passes run one after another.
AT_THE_TERMINAL = {"--pdb", "--trace", "-s", "--capture=no"}


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one pytest runs: see `PASS` in tests/conftest.py."""

    name: str
    title: str
    database: str


PARTS = [
    Part(name="first", title="the suite on SQLite", database="sqlite"),
    Part(name="later", title="the suite on PostgreSQL", database="postgres"),
    Part(name="example", title="the running example", database="sqlite"),
]


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with servers.found() as found:
        announce(found)
        if found.missing and servers.required():
            return 1
        signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches the passes too, and is theirs to answer
        way = one_by_one if AT_THE_TERMINAL & set(arguments) else side_by_side
        return verdict(way([part for part in PARTS if part.database not in found.missing], found, arguments))


def announce(found: servers.Servers) -> None:
    for line in found.lines:
        print(f"servers: {line}", flush=True)
    for name in found.missing:
        what = f"PostgreSQL: its pass is left out; {servers.POSTGRES_HINT}"
        if name == "redis":
            what = f"Redis: tests that need it are skipped; {servers.REDIS_HINT}"
        print(f"servers: no {what}", flush=True)


def side_by_side(parts: list[Part], found: servers.Servers, arguments: list[str]) -> list[int]:
    """All at once. The first one is seen at work; what the others say is kept, and shown afterwards, one by one."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lifecycle-suite-")))
        passes = []
        for part in parts:
            kept = folder / part.name if passes else None
            passes.append(stack.enter_context(Pass(part, found, arguments, kept)))
        return [one.finish() for one in passes]


def one_by_one(parts: list[Part], found: servers.Servers, arguments: list[str]) -> list[int]:
    codes = []
    for part in parts:
        with Pass(part, found, arguments, None) as one:
            codes.append(one.finish())
    return codes


def checkout() -> str:
    """A short name of this working copy: two of them test on one server without meeting."""
    return f"_{zlib.crc32(str(servers.ROOT).encode()):08x}"


class Pass(contextlib.AbstractContextManager["Pass"]):
    """One pytest in a process of its own that ends with the block."""

    def __init__(self, part: Part, found: servers.Servers, arguments: list[str], kept: Path | None) -> None:
        self.title = part.title
        self.kept = kept
        # Each has a cache of its own: with --lf each runs again what failed in it.
        command = [sys.executable, "-m", "pytest", "-o", f"cache_dir=.pytest_cache/{part.name}"]
        if kept is not None and sys.stdout.isatty():
            command.append("--color=yes")
        environment = {
            "LIFECYCLE_TEST_DATABASE": part.database,
            "LIFECYCLE_TEST_PASS": part.name,
            # Dozens of processes import the same modules: compiled once, whatever is usual here.
            "PYTHONDONTWRITEBYTECODE": "",
            "LIFECYCLE_TEST_SUFFIX": os.environ.get("LIFECYCLE_TEST_SUFFIX") or checkout(),
        }
        with kept.open("wb") if kept else contextlib.nullcontext() as output:
            self._child = subprocess.Popen(
                [*command, *arguments],
                cwd=servers.ROOT,
                env={**os.environ, **found.environment, **environment},
                stdin=subprocess.DEVNULL if kept else None,
                stdout=output,
                stderr=subprocess.STDOUT if kept else None,
            )

    def finish(self) -> int:
        """Shows what it has said and what it says until its end; answers its exit code."""
        print(f"\n== {self.title} ==", flush=True)
        if self.kept is None:
            return self._child.wait()
        with self.kept.open("rb") as said:
            while self._child.poll() is None:
                shutil.copyfileobj(said, sys.stdout.buffer)
                sys.stdout.buffer.flush()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._child.wait(0.2)
            shutil.copyfileobj(said, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return self._child.returncode

    def __exit__(self, *_: object) -> None:
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGINT)
            self._child.wait()


def verdict(codes: list[int]) -> int:
    """The first failure. A pass that had nothing to run is fine as long as another one had."""
    ran = [code for code in codes if code != NOTHING_COLLECTED]
    return next((code for code in ran if code), 0 if ran else NOTHING_COLLECTED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
