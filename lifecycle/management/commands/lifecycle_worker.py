"""lifecycle_worker: drains and ticks in one process, with no broker."""

from __future__ import annotations

import io
import json
import logging
import os
import queue
import random
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections

from lifecycle import registry
from lifecycle.execution import connecting, silence
from lifecycle.execution.drain import drain
from lifecycle.suggest import did_you_mean
from lifecycle.sweeps import tick as ticking

log = logging.getLogger("lifecycle.worker")

LONGEST = 5.0
GROWTH = 1.5


class Command(BaseCommand):
    help = (
        "Run effects and tick in this process, by polling the database. No broker is needed. Use it instead of Celery"
        " workers, or beside them as a spare for when the broker is down. Start several for more throughput. On "
        "SIGTERM or Ctrl-C it finishes its current run and starts no other."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--queue", action="append", metavar="NAME", dest="queues",
            help="Serve this queue; may be repeated. Default: every queue that the lifecycles name.",
        )  # fmt: skip
        parser.add_argument(
            "--once",
            action="store_true",
            help="Tick, run what is due until nothing is left, and exit. For cron and scripts.",
        )
        parser.add_argument(
            "--poll", type=_seconds, default=0.2, metavar="SECONDS",
            help=f"Pause after finding nothing; it grows to {LONGEST:g} s while nothing comes (default: 0.2).",
        )  # fmt: skip

        parser.add_argument(
            "--format", choices=["text", "json"], default="text",
            help="How to report its start and end: a sentence, or a JSON object per line (text).",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        worker = Worker(queues=options["queues"], poll=options["poll"])
        self._warn_of_strange(worker.queues)
        self._json = options["format"] == "json"
        if options["once"]:
            worker.run_until_empty()
            self._tell(f"lifecycle_worker: {worker.done} done.", event="finished", done=worker.done)
            return
        worker.listen_to_signals()
        self._tell(
            f"lifecycle_worker {os.getpid()}: serving {', '.join(worker.queues)}. Ctrl-C stops it.",
            event="started",
            queues=worker.queues,
        )
        with silence.noticed(lambda: worker.stopping):
            worker.run()
        self._tell("lifecycle_worker: stopped.", event="stopped", done=worker.done)

    def _warn_of_strange(self, queues: list[str]) -> None:
        """A queue nobody names may still hold runs of code that is gone: served, but told, for it may be a typo."""
        known = known_queues()
        for name in queues:
            if name not in known:
                self.stderr.write(f"No lifecycle names the queue '{name}'. {did_you_mean(name, known)}")

    def _tell(self, sentence: str, **facts: Any) -> None:
        try:
            self.stdout.write(json.dumps({**facts, "pid": os.getpid()}) if self._json else sentence)
            self.stdout.flush()
        except (OSError, ValueError):  # closed, or nobody reads it any more: no reason to fail
            sys.stdout = io.StringIO()  # this one is flushed at the exit without a complaint


class Worker:
    """The polling loop."""

    def __init__(self, *, queues: list[str] | None, poll: float) -> None:
        self.queues = list(dict.fromkeys(queues or known_queues()))
        self.done = 0
        self.poll = poll
        self.stopping = False
        # put() of a SimpleQueue may be called from a signal handler that interrupted get(); an Event's set() may not:
        # it would wait for a lock that the interrupted wait() holds.
        self._alarm: queue.SimpleQueue[None] = queue.SimpleQueue()

    def listen_to_signals(self) -> None:
        """SIGTERM and SIGINT set a flag, nothing else; a second one ends the process as a crash would."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._heard)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.stopping:
            # The run keeps its lease and is taken back when that ends: the same as after kill -9, nothing is lost.
            os._exit(128 + number)
        self.stopping = True
        self._alarm.put(None)

    def run(self) -> None:
        """Drains and ticks until told to stop; outlives whatever the database does."""
        pause = self.poll
        while not self.stopping:
            try:
                busy = self._round()
            except Exception as error:
                # A lost database, a migration under way, a bug in a project's signal receiver: wait and look again.
                log.exception("The worker's round failed; it goes on after a pause.")
                connecting.discard_after(error)
                _close_broken_connections()
                busy = False
                pause = max(pause, 1.0)
            pause = self.poll if busy else min(pause * GROWTH, max(LONGEST, self.poll))
            if not busy:
                self._wait(pause)

    def run_until_empty(self) -> None:
        """One tick, then everything that is due, and whatever that enqueues."""
        ticking.tick()
        while self._drain_all():
            pass

    def _round(self) -> bool:
        ticking.maybe_tick()
        return self._drain_all()

    def _drain_all(self) -> bool:
        """One drain of every queue; whether any found work."""
        busy = False
        for name in self.queues:
            if self.stopping:
                break
            report = drain(name, stop=lambda: self.stopping, between=ticking.maybe_tick)
            self.done += report.done
            busy = busy or report.done > 0 or report.more
        return busy and not self.stopping

    def _wait(self, seconds: float) -> None:
        # Several workers that start together must not ask together for ever.
        try:
            self._alarm.get(timeout=seconds * random.uniform(0.8, 1.2))  # noqa: S311 not a secret
        except queue.Empty:
            _close_broken_connections()


def known_queues() -> list[str]:
    """Every queue that a registered lifecycle or one of its effects names, and "default"."""
    names = {"default": None}
    for definition in registry.all():
        names[definition.queue] = None
        names |= {effect.queue: None for effect in definition.effects.values() if effect.queue}
    return list(names)


def _close_broken_connections() -> None:
    """Lets go of connections that had errors or are too old; the others are kept from one look to the next."""
    for connection in connections.all(initialized_only=True):
        connecting.refresh(connection.alias)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0.01 <= seconds <= 3600:
        raise ArgumentTypeError(f"expected seconds between 0.01 and 3600, got {text!r}")
    return seconds
