"""Isolation: the code of a project, called by a worker, leaves no trace in the worker.

What an effect may change for everything after it — an open transaction, the session of a connection, the time zone, the
language, signal handlers, even the process — is put back, or thrown away, when its call is over.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from django.db import DatabaseError, connections
from django.utils import timezone, translation

from lifecycle.execution import connecting

_IDLE = 0  # libpq's PQTRANS_IDLE
_MYSQL_IN_TRANSACTION = 1
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Statements that outlast their transaction: settings of a session, its temporary tables, its listening.
_LASTING = re.compile(
    r"\s*(SET(?!\s+(LOCAL|TRANSACTION|CONSTRAINTS))|RESET|DISCARD|USE|LISTEN|LOCK\s+TABLES|PRAGMA\s+\w+\s*=|ATTACH"
    r"|CREATE\s+TEMP|BEGIN|START|SELECT\s+(pg_catalog\.)?(set_config|pg_advisory_lock))\b",
    re.IGNORECASE,
)


class TransactionLeftOpen(Exception):
    """An effect returned inside a transaction that it had begun; what it wrote there is rolled back."""


@contextmanager
def worker() -> Iterator[None]:
    """Around the work on one run, or one pass of the tick: the project's time zone and language, before and after."""
    with timezone.override(None), translation.override(translation.get_language()):
        yield


@contextmanager
def effect() -> Iterator[None]:
    """Around the call of one effect.

    Raises:
        TransactionLeftOpen: it left one; the connection is thrown away.
    """
    process, handlers = os.getpid(), _handlers()
    sessions = [_Session(connection) for connection in connections.all(initialized_only=True)]
    try:
        with worker(), ExitStack() as watched:
            for session in sessions:
                watched.enter_context(session.connection.execute_wrapper(session.notice))
            yield
    finally:
        if os.getpid() != process:
            os._exit(0)  # a child that came back: this run, and the connections, are its parent's
        _put_back(handlers)
        left = [session.connection.alias for session in sessions if session.end()]
    if left:
        raise TransactionLeftOpen(
            f"It left a transaction open on {', '.join(left)}; what was written there is rolled back. "
            "Write `with transaction.atomic():` around what belongs together."
        )


def told_to_end(error: BaseException, stopping: Callable[[], bool]) -> bool:
    """Whether an exit that came out of an effect is the process's rather than the effect's own ``sys.exit()``."""
    if not isinstance(error, SystemExit) or type(error) is not SystemExit or stopping():
        return True
    codes = {getattr(handler, "__code__", None) for handler in _handlers().values()}
    frames = error.__traceback__
    while frames is not None:
        if frames.tb_frame.f_code in codes:
            return True
        frames = frames.tb_next
    return False


class _Session:
    """One connection before an effect, and what the effect does to it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.depth = len(connection.atomic_blocks)
        self.lasting = False

    def notice(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        """Lets a statement pass, and remembers one that changes the session."""
        if not self.lasting and isinstance(sql, str) and _LASTING.match(sql):
            self.lasting = True
        return execute(sql, params, many, context)

    def end(self) -> bool:
        """Throws away a session that is not as it was; answers whether a transaction was left open in it."""
        connection = self.connection
        blocks = connection.atomic_blocks[self.depth :]
        for block in reversed(blocks):
            with suppress(DatabaseError):
                block.__exit__(TransactionLeftOpen, TransactionLeftOpen(), None)
        left = bool(blocks)
        if self.depth == 0:
            left = left or _in_transaction(connection)
            if left or self.lasting:
                connecting.discard(connection.alias)
        return left


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


def _put_back(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)
