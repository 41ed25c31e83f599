"""Isolation: the code of a project, called by a worker, leaves no trace in the worker.

What an effect may change for everything after it — an open transaction, the session of a connection, the time zone, the
language, signal handlers, even the process — is put back, or thrown away, when its call is over.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from django.db import DatabaseError, connections, transaction
from django.utils import timezone, translation

from lifecycle.execution import connecting

log = logging.getLogger("lifecycle.execution")

_IDLE = 0  # libpq's PQTRANS_IDLE
_MYSQL_IN_TRANSACTION = 1
_NAMES = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGPIPE")
_SIGNALS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
# Statements that outlast their transaction: settings of a session, its temporary tables, its listening.
_LASTING = re.compile(
    r"\s*(SET(?!\s+(LOCAL|TRANSACTION|CONSTRAINTS|SQL_AUTO_IS_NULL|SESSION\s+TRANSACTION))|RESET|DISCARD|USE|LISTEN|LOCK\s+TABLES|PRAGMA\s+\w+\s*=|ATTACH"
    r"|CREATE\s+TEMP|BEGIN|START|SELECT\s+(pg_catalog\.)?(set_config|pg_advisory_lock))\b",
    re.IGNORECASE,
)


class TransactionLeftOpen(Exception):
    """Code returned inside a transaction that it had begun, or ended one of others; what it wrote is rolled back."""


@contextmanager
def worker() -> Iterator[None]:
    """Around the work on one run, or one pass of the tick: the project's time zone and language, before and after."""
    with timezone.override(None), translation.override(translation.get_language()):
        yield


@contextmanager
def call() -> Iterator[None]:
    """Around the call of one effect, or of what a transition calls for a follow-up, a timeout or a deadline.

    Raises:
        TransactionLeftOpen: it left one, or ended the one around it; what it wrote is rolled back.
    """
    process, handlers, mask = os.getpid(), _handlers(), _mask()
    sessions = [_Session(connection) for connection in connections.all()]
    left: list[str] = []
    try:
        with worker():
            for session in sessions:
                session.connection.execute_wrappers.append(session.notice)
            yield
    finally:
        if os.getpid() != process:
            _end_child(sys.exc_info()[1])
        _put_back(handlers, mask)
        left = [session.connection.alias for session in sessions if session.end()]
    if left:
        raise TransactionLeftOpen(
            f"It left a transaction open on {', '.join(left)}, or ended the one it was called in; what was written "
            "there is rolled back. Write `with transaction.atomic():` around what belongs together."
        )


def told_to_end(error: BaseException, stopping: Callable[[], bool] = connecting.never) -> bool:
    """Whether what came out of a project's code ends the process, rather than being that code's own ``sys.exit()``."""
    if isinstance(error, Exception):
        return False
    if not isinstance(error, SystemExit) or type(error) is not SystemExit or stopping():
        return True
    codes = {getattr(handler, "__code__", None) for handler in _handlers().values()} - {None}
    frames = error.__traceback__
    while frames is not None:
        if frames.tb_frame.f_code in codes:
            return True
        frames = frames.tb_next
    return False


def _end_child(error: BaseException | None) -> NoReturn:
    """Ends a forked child that came back: the run, and the connections, are its parent's."""
    status = 0
    if isinstance(error, SystemExit):
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        log.error("A child that an effect forked failed.", exc_info=error)
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(status)


class _Session:
    """One connection before an effect, and what the effect does to it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.depth = len(connection.atomic_blocks)
        self.inside = self.depth > 0 and _in_transaction(connection)
        self.lasting = self.used = False

    def notice(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        """Lets a statement pass, and remembers one that changes the session."""
        self.used = True
        if not self.lasting and isinstance(sql, str) and _LASTING.match(sql):
            self.lasting = True
        return execute(sql, params, many, context)

    def end(self) -> bool:
        """Throws away a session that is not as it was; answers whether a transaction was left open in it, or ended."""
        connection = self.connection
        with suppress(ValueError):
            connection.execute_wrappers.remove(self.notice)
        blocks = connection.atomic_blocks[self.depth :]
        for block in reversed(blocks):
            with suppress(DatabaseError):
                block.__exit__(TransactionLeftOpen, TransactionLeftOpen(), None)
        if self.depth:
            return self._end_inside() or bool(blocks)
        switched = _is_switched(connection)
        left = bool(blocks) or _in_transaction(connection) or (switched and self.used)
        if left or switched or self.lasting:
            connecting.discard(connection.alias)
        return left

    def _end_inside(self) -> bool:
        """The same in a transaction of others: what it did to the session goes when that is committed, or with it."""
        connection = self.connection
        if self.inside and not _in_transaction(connection):
            connection.needs_rollback = connection.in_atomic_block
            return True
        if self.lasting and connection.in_atomic_block and not connection.needs_rollback:
            transaction.on_commit(lambda: connecting.discard(connection.alias), using=connection.alias)
        return False


def _is_switched(connection: Any) -> bool:
    """Whether autocommit is not as the settings have it, and not by a transaction of Django's."""
    if connection.connection is None or connection.in_atomic_block:
        return False
    return bool(connection.autocommit != connection.settings_dict["AUTOCOMMIT"])


def _in_transaction(connection: Any) -> bool:
    """Whether the driver is in a transaction that Django knows nothing of; asks no server."""
    raw = connection.connection
    if raw is None:
        return False
    if connection.vendor == "postgresql":
        return int(raw.info.transaction_status) != _IDLE and not raw.closed
    if connection.vendor == "mysql":
        # Only some drivers say what the server told them: its flag for an open transaction.
        return bool(getattr(raw, "server_status", 0) & _MYSQL_IN_TRANSACTION)
    return bool(getattr(raw, "in_transaction", False))


def _handlers() -> dict[int, Any]:
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.getsignal(number) for number in _SIGNALS}


def _mask() -> Any:
    return signal.pthread_sigmask(signal.SIG_BLOCK, ()) if hasattr(signal, "pthread_sigmask") else None


def _put_back(handlers: dict[int, Any], mask: Any) -> None:
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) != handler:
            signal.signal(number, handler)
    if mask is not None and _mask() != mask:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
