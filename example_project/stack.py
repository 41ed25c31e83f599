"""Stack: the running example — web server, payment provider's outbox, worker — started and stopped as one thing."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application

from example_project.children import Child, Teller
from example_project.ground import Ground
from example_project.lines import WANTED
from orders.sandbox import outbox

POOLS = ("threads", "prefork", "solo")

# Celery's five lines about being root say nothing about this demo.
QUIET = {
    "PYTHONUNBUFFERED": "1",
    "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
    "DJANGO_SETTINGS_MODULE": "example_project.settings",
}


class ChildEnded(Exception):
    """A process of the stack has ended by itself."""


class QuietHandler(WSGIRequestHandler):
    """A page that refreshes itself every two seconds is not worth a line each time."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Stack:
    """What one demo runs. Children are watched: one that ends by itself ends the demo."""

    def __init__(
        self, ground: Ground, tell: Teller, *, pool: str = "threads", celery: bool = True, lines: bool = False
    ) -> None:
        self.ground = ground
        self.tell = tell
        self.pool = pool
        self.celery = celery
        self.lines = lines
        self.children: dict[str, Child] = {}
        self._stop_outbox = threading.Event()
        self._web: ThreadedWSGIServer | None = None
        self._threads: list[threading.Thread] = []

    # Starting ------------------------------------------------------------------------------------

    def start_web(self) -> None:
        """Serves pages from a thread: sooner there than any child, and one process less to stop."""
        address = (self.ground.listener.getsockname()[0], self.ground.port)
        web = ThreadedWSGIServer(address, QuietHandler, bind_and_activate=False)
        web.socket.close()
        web.socket = self.ground.listener
        web.server_name, web.server_port = address
        web.setup_environ()
        web.set_app(StaticFilesHandler(get_wsgi_application()))
        self._web = web
        self._run("web", lambda: web.serve_forever(poll_interval=0.05))

    def start_outbox(self) -> None:
        """The provider delivers its events from a thread, as another company's machine would: no child of ours."""
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self._run("outbox", lambda: outbox.run(self._stop_outbox))

    def _run(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def start_worker(self) -> None:
        """The worker, a child: Celery's own, or without Celery the library's."""
        self.children["worker"] = Child(
            "worker", self._worker(), self.tell, {**QUIET, **({WANTED: "1"} if self.lines else {})}
        )

    def _worker(self) -> list[str]:
        if not self.celery:
            return ["django", "lifecycle_worker"]
        name = f"demo{os.getpid()}@%h"
        return [
            *(
                "celery",
                "-q",
                "-A",
                "example_project",
                "worker",
                "--pool",
                self.pool,
                "-c",
                "2",
                "-l",
                "INFO",
                "-n",
                name,
            ),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        ]

    # Watching ------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raises when a child has ended by itself, with the last it said."""
        for child in self.children.values():
            if child.ended is not None:
                last = "\n".join(child.lines)
                raise ChildEnded(f"{child.name} ended with {child.ended}; stopping the rest\n{last}".rstrip())

    def kill(self, name: str) -> None:
        """Ends a child as an accident would; it is not watched any more."""
        self.children.pop(name).kill()

    # Stopping ------------------------------------------------------------------------------------

    def stop(self, hurry: threading.Event) -> None:
        """Everything, children first: pages still answer while the worker finishes what it is doing."""
        for child in self.children.values():
            child.ask_to_stop()
        self._stop_outbox.set()
        for child in self.children.values():
            child.wait(hurry)
        self.children.clear()
        if self._web is not None:
            self._web.shutdown()
            self._web.socket.close()
        for thread in self._threads:
            thread.join(2)


def wait_until(
    what: str,
    probe: Callable[[], Any],
    seconds: float,
    *,
    stop: threading.Event,
    check: Callable[[], None] = lambda: None,
) -> Any:
    """Asks until the probe's answer is true, and returns it.

    Raises:
        TimeoutError: names what was waited for.
        ChildEnded: there is nothing left to wait for.
        KeyboardInterrupt: the command is to stop.
    """
    limit = time.monotonic() + seconds
    pause = 0.02
    while True:
        answer = probe()
        if answer:
            return answer
        check()
        if time.monotonic() > limit:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        if stop.wait(pause):
            raise KeyboardInterrupt
        pause = min(pause * 1.3, 0.2)


def is_sqlite() -> bool:
    return str(settings.DATABASES["default"]["ENGINE"]).endswith("sqlite3")
