"""Watchdog: one thread per process that renews the leases of long runs and ends attempts whose time is up."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connections

from lifecycle import clock
from lifecycle.execution.limits import FOR_EVER, Limits
from lifecycle.store import claims
from lifecycle.store.claims import ClaimedRun

log = logging.getLogger("lifecycle.execution")

# A timer in the main thread gets this long to interrupt the code before the watchdog writes the timeout itself.
GRACE = 0.5
# After a failed renewal or write the next try comes this soon.
AGAIN = 1.0
# A thread with nothing to watch ends after this long.
IDLE = 30.0


class Watch:
    """One run in the hands of one thread, from its claim until its outcome is committed: when its lease is to be
    renewed, and while its code runs, when that code's time is up.
    """

    def __init__(self, held: ClaimedRun, using: str) -> None:
        now = clock.monotonic()
        self.held = held
        self.using = using
        self.interval = held.lease_seconds / 4
        self.renewed_at = now
        self.renewal_at = now + self.interval
        self._limits: Limits | None = None
        self._expire: Callable[[], None] | None = None
        self._grace = 0.0
        self._not_before = 0.0
        self.entered = False  # whether the effect's code was entered
        self._taken = False
        self._unsure = False
        self._time_is_up = False

    @property
    def cancelled(self) -> bool:
        """What the effect may look at: the lease is lost or cannot be kept, or the time is up."""
        return self._taken or self._unsure or self._time_is_up

    @property
    def over(self) -> bool:
        """Whether the lease may be over: taken away, or not renewed for as long as it lasts."""
        return self._taken or clock.monotonic() >= self.renewed_at + self.held.lease_seconds

    @property
    def expire_at(self) -> float:
        """When the attempt is to be ended in the rows."""
        limits = self._limits
        return FOR_EVER if limits is None else max(limits.ends_at + self._grace, self._not_before)

    @property
    def next_at(self) -> float:
        """When the watchdog has to look at this run again."""
        return min(self.renewal_at, self.expire_at)

    def code_begins(self, limits: Limits, expire: Callable[[], None], *, interruptible: bool) -> None:
        """From now on the code's time runs; ``expire`` ends the attempt in the rows."""
        self._grace = GRACE if interruptible else 0.0
        self.entered = True
        self._expire, self._limits = expire, limits

    def code_ended(self) -> None:
        """The code came back; what is left is to report."""
        self._limits = self._expire = None

    def expire(self) -> None:
        """The time is up: ends the attempt in the rows, unless its code came back this moment."""
        expire = self._expire
        if expire is None:
            return
        self._time_is_up = True
        try:
            expire()
        except Exception:
            self._not_before = clock.monotonic() + AGAIN
            raise
        self.lost()

    def renewed(self, at: float) -> None:
        """The lease holds from ``at`` on."""
        self._unsure = False
        self.renewed_at = at
        if self.renewal_at < FOR_EVER:
            self.renewal_at = at + self.interval

    def lost(self) -> None:
        """Somebody else has the run now; nothing is left to do for it."""
        self._taken = True
        self._limits = self._expire = None
        self.renewal_at = FOR_EVER

    def not_to_be_renewed(self) -> None:
        """Nobody can take the run while its worker keeps everybody from writing; nor can the watchdog write."""
        self.renewal_at = FOR_EVER

    def renewal_failed(self, at: float) -> None:
        """The database did not answer. Shortly before the lease would be over the worker gives up on it itself."""
        self.renewal_at = at + min(AGAIN, self.interval)
        if at >= self.renewed_at + 3 * self.interval:
            self._unsure = True


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
            else:
                self._wake_for(watch)

    def changed(self, watch: Watch) -> None:
        """Looks again at a watch whose times have moved."""
        if watch.next_at < self._wakes_at:
            with self._changed:
                if watch in self._watches:
                    self._wake_for(watch)

    def _wake_for(self, watch: Watch) -> None:
        if watch.next_at < self._wakes_at:
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
        try:
            watch.expire()
        except Exception as error:  # noqa: BLE001 whatever prevents one write, the thread goes on
            log.warning("The timeout of %s could not be recorded yet: %s", watch.held, error)

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
def holding(held: ClaimedRun, using: str) -> Iterator[Watch]:
    """Keeps the lease of a claimed run while the block runs.

    Not in somebody's transaction: there no other connection sees the rows, and nobody else can take them.
    """
    watch = Watch(held, using)
    if connections[using].in_atomic_block:
        yield watch
        return
    watchdog = _watchdog
    watchdog.add(watch)
    try:
        yield watch
    finally:
        watchdog.remove(watch)


@contextmanager
def timing(watch: Watch, limits: Limits, expire: Callable[[], None], *, interruptible: bool) -> Iterator[None]:
    """Watches the time of the code that the block calls."""
    watch.code_begins(limits, expire, interruptible=interruptible)
    _watchdog.changed(watch)
    try:
        yield
    finally:
        watch.code_ended()
