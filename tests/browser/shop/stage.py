"""Stage: the running example as a process that does on request what no browser can — kill its worker, stop its Redis.

Started as a module it is the demo, which then obeys one request per line of its input and answers each with a line
``done`` or ``failed``; the end of its input ends it.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[3]


class Stage:
    """The example's processes, and the strings they hang on."""

    def __init__(self, **environment: str) -> None:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("EXAMPLE_", "LIFECYCLE_"))}
        ours.pop("DJANGO_SETTINGS_MODULE", None)
        self.lines: list[str] = []
        self._said = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.shop.stage"],
            cwd=ROOT,
            env={**ours, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self.said("ready: ").split("ready: ")[1].rstrip("/")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._said:
                self.lines.append(line.rstrip())
                self._said.notify_all()
        with self._said:
            self._said.notify_all()

    def said(self, words: str, after: int = 0, seconds: float = 60) -> str:
        """Waits for a line with these words among those after a place."""

        def look() -> str | None:
            return next((line for line in self.lines[after:] if words in line), None)

        with self._said:
            self._said.wait_for(lambda: look() or self.process.poll() is not None, seconds)
            found = look()
        assert found is not None, f"no line {words!r} from the stage:\n" + "\n".join(self.lines[-40:])
        return found

    def ask(self, request: str, seconds: float = 30) -> None:
        """Has the stage do something, and waits until it is done."""
        assert self.process.stdin is not None
        place = len(self.lines)
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.said(f"{request}: ", place, seconds)
        assert answer.endswith(": done"), answer

    @contextmanager
    def payment_window(self, seconds: int) -> Iterator[None]:
        """While open, orders expire sooner."""
        self.ask(f"window {seconds}")
        try:
            yield
        finally:
            self.ask("window off")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self._reader.join(5)
        assert self.process.stdout is not None
        self.process.stdout.close()


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
    from example_project import ground

    ground.choose(["--check", "--port", "0"])
    try:
        import django
        from django.conf import settings

        # A fifth of a second of each log-in is the hash; forty people log in here, and none has a secret.
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
        django.setup()
        _run(ground.chosen)
    finally:
        ground.leave()


def _run(place: Any) -> None:
    from example_project.management.commands.demo import Demo

    class Obedient(Demo):
        """The demo, which instead of driving the table does what it is told."""

        def _check_table(self) -> int:
            with ExitStack() as window:
                while True:
                    readable, _, _ = select.select([sys.stdin], [], [], 0.2)
                    self.stack.check()
                    if not readable:
                        continue
                    request = sys.stdin.readline().strip()
                    if not request:
                        return 0
                    self._obey(request, window)

        def _obey(self, request: str, window: ExitStack) -> None:
            verb, _, argument = request.partition(" ")
            try:
                if verb == "window":
                    window.close()
                    if argument != "off":
                        window.enter_context(self.payment_window(seconds=int(argument)))
                else:
                    getattr(self, verb)()
            except Exception as error:  # noqa: BLE001 - whatever went wrong is the answer
                self.tell("stage", f"{request}: failed, {error!r}")
            else:
                self.tell("stage", f"{request}: done")

    Obedient(place, {"check": True, "worker": "threads", "no_celery": False}).run()


if __name__ == "__main__":
    main()
