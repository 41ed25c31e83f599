"""Connection: what a worker does when its database connection breaks or goes away."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from typing import TypeVar

from django.db import Error, InterfaceError, InternalError, OperationalError, ProgrammingError, connections

from lifecycle import clock

log = logging.getLogger("lifecycle.execution")
T = TypeVar("T")

# After these a connection is not used again. InternalError: among others a server that became a read-only one after a
# failover (SQLSTATE 25006), which goes on answering questions while every new connection would reach its successor.
BROKEN = (OperationalError, InterfaceError, InternalError)
# What else may be the fault of a session rather than of the statement (its search path): worth one try on another.
SUSPECT = (ProgrammingError,)
# So many seconds a worker that was told to end goes on trying to report what it has in hand.
LAST_TRIES = 10.0
_SLICE = 0.1
_LONGEST = 5.0
_ACTIVE = 1  # libpq's PQTRANS_ACTIVE: a statement is under way


def mend(using: str) -> None:
    """Lets go of a connection that no longer answers, so that the next statement opens another."""
    connection = connections[using]
    if not connection.in_atomic_block:
        connection.errors_occurred = True  # ask it, do not believe it
        _quietly(connection.close_if_unusable_or_obsolete, connection)


def refresh(using: str) -> None:
    """Between runs: lets go of a connection that had errors, is too old, or was left in another mode by an effect.

    Never inside a transaction: a test's, or somebody's who drains inside theirs. ``CONN_MAX_AGE = 0`` means that a
    connection lives for one request; a drain is one request, or it would connect anew for every run.
    """
    connection = connections[using]
    if connection.in_atomic_block:
        return
    close_at = connection.close_at
    if connection.settings_dict["CONN_MAX_AGE"] == 0:
        connection.close_at = None
    _quietly(connection.close_if_unusable_or_obsolete, connection)
    connection.close_at = close_at


def discard_interrupted() -> None:
    """After an effect was interrupted no connection of this thread can be trusted: it may be in mid-statement (P23)."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            _quietly(connection.close, connection)


def cancel_statements() -> None:
    """Right before an interruption: stops what this thread's connections are in the middle of on the server.

    Otherwise the server would go on with it, and hold its locks, after the client has long hung up.
    """
    for connection in connections.all(initialized_only=True):
        raw = connection.connection
        try:
            if connection.vendor != "postgresql" or raw is None or raw.info.transaction_status != _ACTIVE:
                continue
            if hasattr(raw, "cancel_safe"):
                raw.cancel_safe(timeout=2.0)
            else:
                raw.cancel()
        except Exception:
            log.debug("A statement could not be cancelled.", exc_info=True)


def discard_after(error: BaseException) -> None:
    """After an error in a worker's own statements: a connection that is the reason for it must not be met again.

    It may answer ``SELECT 1`` and yet be good for nothing: read-only after a failover, with another ``search_path``.
    """
    if isinstance(error, Error):
        discard_interrupted()


def discard(using: str) -> None:
    """Closes the connection, whatever state it is in."""
    _quietly(connections[using].close, connections[using])


def never() -> bool:
    """Nobody told the worker to end."""
    return False


def until_answered(
    work: Callable[[], T],
    recover: Callable[[], T | None],
    using: str,
    seconds: float,
    stopping: Callable[[], bool] = never,
) -> T:
    """Does protocol work through a database outage: waits with jitter, opens a new connection, looks, does it again.

    Args:
        work: the write.
        recover: asked after each outage, for the first one's commit may have happened: its answer, or None to repeat.
        using: the database.
        seconds: for how long; then the error is raised.
        stopping: whether the worker was told to end; from then on it tries a little longer only.
    """
    if connections[using].in_atomic_block:  # nobody but the owner of that transaction can repair it
        return work()
    until = clock.monotonic() + seconds
    broken = suspected = 0

    def over() -> bool:
        return clock.monotonic() >= until

    while True:
        try:
            answer = recover() if broken or suspected else None
            return work() if answer is None else answer
        except SUSPECT as error:
            suspected += 1
            discard(using)
            if suspected > 1:
                raise
            log.warning("The session on '%s' is thrown away: %s", using, error)
        except BROKEN as error:
            broken += 1
            discard(using)
            if stopping():
                until = min(until, clock.monotonic() + LAST_TRIES)
                stopping = never  # the time that is left has begun
            if over():
                raise
            log.warning("The database '%s' does not answer, trying again: %s", using, error)
            pause(broken, over)


def pause(failures: int, stop: Callable[[], bool]) -> None:
    """Waits longer after each failure, never the same for two workers, and no longer than until ``stop``."""
    seconds = min(0.05 * 2 ** min(failures, 10), _LONGEST) * random.uniform(0.5, 1.5)  # noqa: S311 jitter, no secret
    until = clock.monotonic() + seconds
    waiting = threading.Event()
    while not stop() and (left := until - clock.monotonic()) > 0:
        waiting.wait(min(left, _SLICE))


def _quietly(close: Callable[[], None], connection: object) -> None:
    try:
        close()
    except Exception:
        log.debug("A connection could not be closed.", exc_info=True)
        connection.connection = None  # type: ignore[attr-defined]
