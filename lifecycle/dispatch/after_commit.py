"""Wake-up: one message per transaction and queue, sent when the transaction is in the database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connections, transaction

from lifecycle import dispatch


class WakeUp:
    """The callback that waits in the connection's list of things to do after the commit."""

    def __init__(self, queue: str) -> None:
        # Django's log line about a failing robust callback asks for this name; without it the line itself would fail.
        self.__qualname__ = f"WakeUp({queue})"
        self.queue = queue
        self.sent = False

    def __call__(self) -> None:
        # Marked before the attempt: within a TestCase the list outlives the call (captureOnCommitCallbacks), and a
        # later transition of the same test must be able to ask again.
        self.sent = True
        dispatch.publish(self.queue)


def wake(using: str, queues: Iterable[str]) -> None:
    """Registers at most one wake-up per (transaction, queue) on the alias where the runs are written.

    A savepoint that is rolled back takes its own wake-ups with it, as it takes the runs. A wake-up registered deeper
    and still in the list serves everybody: the savepoints it depends on are released, or enclose this call too.
    """
    connection = connections[using]
    waiting = _waiting(connection)
    for queue in dict.fromkeys(queues):
        known = waiting.get(queue)
        if known is not None and not known.sent:
            continue
        wake_up = WakeUp(queue)
        transaction.on_commit(wake_up, using=using, robust=True)
        if connection.in_atomic_block:
            waiting[queue] = wake_up


def _waiting(connection: Any) -> dict[str, WakeUp]:
    """The wake-ups in the connection's current list, by queue.

    Django replaces the list object at commit and at every rollback, a savepoint's included; so the list's identity
    tells whether what was remembered still holds, and a transaction of a thousand transitions reads it once.
    """
    remembered = getattr(connection, "_lifecycle_wake_ups", None)
    if remembered is not None and remembered[0] is connection.run_on_commit:
        found: dict[str, WakeUp] = remembered[1]
        return found
    found = {callback.queue: callback for _, callback, _ in connection.run_on_commit if isinstance(callback, WakeUp)}
    connection._lifecycle_wake_ups = (connection.run_on_commit, found)
    return found
