"""Silence: a database that neither answers nor hangs up is named in the log, and keeps no worker from ending.

A connection may be lost without either side being told (a firewall that forgot it, a host that is gone); unless the
driver bounds its waits, the next statement waits for as long as the system repeats its packets. Nothing in the waiting
thread can tell: some drivers wait in C, where not even a signal's handler is called. So a thread looks at its stack.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import Any, NoReturn, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper

from lifecycle import clock

log = logging.getLogger("lifecycle.execution")
F = TypeVar("F", bound=Callable[..., Any])

# So many seconds without an answer are worth a line, and are all that a worker that was told to end still waits. Longer
# than an outcome waits for its record's lock; shorter than most supervisors wait before they kill.
AFTER = 15.0
# So often the line comes again.
EVERY = 60.0
# What such a worker ends with: it was told to, but what it had in hand is for others.
EXIT_CODE = 1
_LOOKS = 10  # in AFTER
_BACKENDS = "django.db.backends."
_TO_END = {signal.SIGTERM, signal.SIGINT}
# The backend runs what transaction.on_commit() was given.
_CALLBACKS = {BaseDatabaseWrapper.run_and_clear_commit_hooks.__code__}
_effects: set[CodeType] = set()
_listening: list[_Listener] = []


def calls_an_effect(function: F) -> F:
    """Marks the function whose callees are an effect's own code: how long that waits for what is its own affair."""
    _effects.add(function.__code__)
    return function


@contextmanager
def noticed(stopping: Callable[[], bool]) -> Iterator[None]:
    """Notices, for the block, that a database is silent. To be called in the main thread of a process of ours.

    Args:
        stopping: whether the worker was told to end. A signal counts at once, though its handler cannot be called.
    """
    told, telling = socket.socketpair()
    told.settimeout(AFTER / _LOOKS)
    telling.setblocking(False)
    before = signal.set_wakeup_fd(telling.fileno(), warn_on_full_buffer=False)
    listener = _Listener(threading.get_ident(), told, stopping)
    thread = threading.Thread(target=listener.run, name="lifecycle-silence", daemon=True)
    thread.start()
    _listening.append(listener)
    try:
        yield
    finally:
        _listening.remove(listener)
        signal.set_wakeup_fd(before)
        listener.over = True
        with suppress(OSError):  # full: it wakes as well
            telling.send(b"\0")
        thread.join()
        telling.close()
        told.close()


class _Listener:
    """What the thread knows: since when the worker waits for which database, and since when it is to end."""

    def __init__(self, watched: int, told: socket.socket, stopping: Callable[[], bool]) -> None:
        self._watched = watched
        self._told = told
        self._stopping = stopping
        self.over = False
        self._told_at: float | None = None
        self._frame: FrameType | None = None  # the call that waits; another call is another frame
        self._since = self._again_at = 0.0

    def run(self) -> None:
        """Looks until the block is over."""
        try:
            while self._listen():
                self._look()
        except Exception:
            log.exception("From here on nobody looks whether a database is silent.")

    def _listen(self) -> bool:
        """Waits for the next look or a signal; whether there is more to look for."""
        numbers = b""
        with suppress(TimeoutError):
            numbers = self._told.recv(64)
        if self._told_at is None and (self._stopping() or _TO_END & set(numbers)):
            self._told_at = clock.monotonic()
        return not self.over

    def _look(self) -> None:
        now, (frame, using) = clock.monotonic(), _waits_for(sys._current_frames().get(self._watched))
        if frame is None or frame is not self._frame:
            self._frame, self._since, self._again_at = frame, now, now + AFTER
            return
        if self._told_at is not None and now >= max(self._told_at, self._since) + AFTER:
            _end(using, now - self._since)
        if now >= self._again_at:
            self._again_at = now + EVERY
            log.warning(
                "The database '%s' has not answered for %d s; the worker waits. Its driver's options bound such waits.",
                using,
                now - self._since,
            )


def _waits_for(innermost: FrameType | None) -> tuple[FrameType | None, str]:
    """The call into one of Django's database backends that a thread is in, and the database's alias.

    All that waits for a database passes there: statements, commits, connecting, asking whether a connection is usable.
    """
    call: FrameType | None = None
    using, frame = "", innermost
    while frame is not None:
        if frame.f_code in _effects:
            return None, ""
        if call is None:
            if frame.f_globals.get("__name__") == "django.dispatch.dispatcher" or frame.f_code in _CALLBACKS:
                return None, ""  # a project's code, called by the backend
            if str(frame.f_globals.get("__name__")).startswith(_BACKENDS):
                call = frame
        if call is not None and not using:
            using = _alias_in(frame)
        frame = frame.f_back
    return call, using


def _alias_in(frame: FrameType) -> str:
    of = frame.f_locals.get("self")
    for connection in (of, getattr(of, "db", None), getattr(of, "connection", None)):
        if isinstance(connection, BaseDatabaseWrapper):
            return str(connection.alias)
    return ""


def _end(using: str, seconds: float) -> NoReturn:
    """Ends the process as a crash would: what it wrote stands or is rolled back, its runs are found by their lease."""
    log.error(
        "The database '%s' has not answered for %d s and the worker was told to end: it ends. What it had in hand is "
        "taken over by others when its lease is over.",
        using,
        seconds,
    )
    os._exit(EXIT_CODE)


def _forget_after_fork() -> None:
    # A signal to a child is none to its parent, whose socket the child has too.
    if _listening:
        _listening.clear()
        signal.set_wakeup_fd(-1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
