"""Watchdog: one thread per process that renews the leases of long runs and ends attempts whose time is up."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connections

from lifecycle import clock
from lifecycle.store import claims
from lifecycle.store.claims import ClaimedRun

log = logging.getLogger("lifecycle.execution")

# A timer in the main thread gets this long to interrupt the code before the watchdog writes the timeout itself.
GRACE = 0.5
# After a failed renewal or write the next try comes this soon.
AGAIN = 1.0
# A thread with nothing to watch ends after this long.
IDLE = 30.0
FOR_EVER = float("inf")


class Watch:
    """One run in the hands of one thread: when its lease is to be renewed, when its time is up.

    ``cancelled`` is what the effect may look at: the lease is lost or cannot be kept, or the time is up.
    """

    def __init__(
        self, held: ClaimedRun, using: str, timeout: float, expire: Callable[[], None], *, interruptible: bool
    ) -> None:
        now = clock.monotonic()
        self.held = held
        self.using = using
        self.interval = held.lease_seconds / 4
        self.renewed_at = now
        self.renewal_at = now + self.interval
        self.deadline = now + timeout
        self.expire_at = self.deadline + (GRACE if interruptible else 0.0)
        self.expire = expire
        self.cancelled = False

    @property
    def next_at(self) -> float:
        """When the watchdog has to look at this run again."""
        return min(self.renewal_at, self.expire_at)

    def renewed(self, at: float) -> None:
        """The lease holds from ``at`` on."""
        self.renewed_at, self.renewal_at = at, at + self.interval

    def lost(self) -> None:
        """Somebody else has the run now; nothing is left to do for it."""
        self.cancelled = True
        self.renewal_at = self.expire_at = FOR_EVER

    def renewal_failed(self, at: float) -> None:
        """The database did not answer. Shortly before the lease would be over the worker gives up on it itself."""
        self.renewal_at = at + min(AGAIN, self.interval)
        if at >= self.renewed_at + 3 * self.interval:
            self.cancelled = True


class Watchdog:
    """The thread and what it watches. It has its own database connections, open only while it uses them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watches: set[Watch] = set()
        self._thread: threading.Thread | None = None
        self._wakes_at = FOR_EVER

    def add(self, watch: Watch) -> None:
        """Begins to watch; for a run shorter than a quarter of its lease nothing further ever happens."""
        with self._changed:
            self._watches.add(watch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="lifecycle-watchdog", daemon=True)
                self._thread.start()
            elif watch.next_at < self._wakes_at:
                self._wakes_at = watch.next_at
                self._changed.notify()

    def remove(self, watch: Watch) -> None:
        """Ends watching."""
        with self._changed:
            self._watches.discard(watch)

    def _run(self) -> None:
        while True:
            due = self._wait()
            if due is None:
                return
            try:
                self._serve(due)
            except Exception:
                log.exception("The watchdog stumbled; it goes on.")
                for watch in due:  # whatever it was, not in a tight loop
                    watch.renewal_at = max(watch.renewal_at, clock.monotonic() + AGAIN)
            finally:
                _close_connections()

    def _wait(self) -> list[Watch] | None:
        with self._changed:
            idle_since = clock.monotonic()
            while True:
                now = clock.monotonic()
                due = [watch for watch in self._watches if watch.next_at <= now]
                if due:
                    return due
                if not self._watches and now - idle_since >= IDLE:
                    self._thread, self._wakes_at = None, FOR_EVER
                    return None
                if self._watches:
                    idle_since = now
                earliest = min((watch.next_at for watch in self._watches), default=FOR_EVER)
                # A time to wake up is kept though its run may be over: the next one asks for a later one, and a stream
                # of short runs costs no notification.
                if not now < self._wakes_at < earliest or self._wakes_at == FOR_EVER:
                    self._wakes_at = min(earliest, now + IDLE)
                self._changed.wait(self._wakes_at - now)

    def _serve(self, due: list[Watch]) -> None:
        now = clock.monotonic()
        for using in {watch.using for watch in due}:
            self._renew([watch for watch in due if watch.using == using and watch.renewal_at <= now], using)
        for watch in due:
            if watch.expire_at <= now:
                self._expire(watch)

    def _expire(self, watch: Watch) -> None:
        watch.cancelled = True
        try:
            watch.expire()
        except Exception as error:  # noqa: BLE001 whatever prevents one write, the thread goes on
            log.warning("The timeout of %s could not be recorded yet: %s", watch.held, error)
            watch.expire_at = clock.monotonic() + AGAIN
        else:
            watch.lost()

    def _renew(self, watches: list[Watch], using: str) -> None:
        if not watches:
            return
        at = clock.monotonic()
        try:
            held = claims.for_alias(using).renew([watch.held.proof for watch in watches])
        except Exception as error:  # noqa: BLE001 whatever prevents one write, the thread goes on
            log.warning("Leases on '%s' could not be renewed: %s", using, error)
            for watch in watches:
                watch.renewal_failed(clock.monotonic())
            return
        for watch in watches:
            if watch.held.id in held:
                watch.renewed(at)
            else:
                watch.lost()


def _close_connections() -> None:
    for connection in connections.all(initialized_only=True):  # this thread's own
        try:
            connection.close()
        except Exception:
            log.debug("A connection of the watchdog could not be closed.", exc_info=True)
            connection.connection = None


_watchdog = Watchdog()


def _forget_after_fork() -> None:
    # A child inherits neither the thread nor the runs; a lock held at the fork would stay held for ever.
    global _watchdog  # noqa: PLW0603 one per process
    _watchdog = Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


@contextmanager
def watching(watch: Watch | None) -> Iterator[None]:
    """Watches while the block runs. None does not: in somebody's transaction no other connection sees the rows."""
    if watch is None:
        yield
        return
    watchdog = _watchdog
    watchdog.add(watch)
    try:
        yield
    finally:
        watchdog.remove(watch)
