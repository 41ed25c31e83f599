"""Transaction: success is answered only after a commit that happened, and nothing committed is done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from django.db import DatabaseError, connections, transaction

from lifecycle.exceptions import TransactionBroken

T = TypeVar("T")
_IN_ERROR = 3  # libpq's PQTRANS_INERROR: COMMIT would roll back, and would not say so
_DEADLOCK = 1213  # MySQL, MariaDB: the whole transaction is gone, whatever savepoints it had


@contextmanager
def atomic(using: str) -> Iterator[None]:
    """`transaction.atomic`, which never ends in silence without having committed what was done in it.

    Django rolls back without an exception when code inside caught a database error that it had not fenced off with a
    savepoint of its own; PostgreSQL answers COMMIT with a rollback then.

    Raises:
        TransactionBroken: what was done in the block cannot be committed.
    """
    with transaction.atomic(using=using):
        yield
        must_stand(using, "Code that was called")


def must_stand(using: str, culprit: str) -> None:
    """Refuses to go on in a transaction that can no longer be committed.

    Args:
        culprit: who was called last, as the beginning of a sentence.

    Raises:
        TransactionBroken: a database error was caught where it should have been fenced off.
    """
    if is_broken(using):
        raise TransactionBroken(
            f"{culprit} caught a database error, but the transaction of '{using}' was broken by it: nothing of it can "
            "be committed. Put the statement that may fail into `with transaction.atomic():` inside the `try`."
        )


def is_broken(using: str) -> bool:
    """Whether this alias's open transaction can only be rolled back; asks no server."""
    connection = connections[using]
    if connection.needs_rollback:
        return True
    if connection.vendor == "postgresql" and connection.in_atomic_block and connection.connection is not None:
        return int(connection.connection.info.transaction_status) == _IN_ERROR
    return False


@contextmanager
def noticing_deadlocks(using: str) -> Iterator[None]:
    """On MySQL and MariaDB: a deadlock inside the block breaks the transaction, also for code that catches it.

    InnoDB has rolled everything back by then, and goes on as if nothing had happened.
    """
    connection = connections[using]
    if connection.vendor != "mysql":
        yield
        return

    def execute(call: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        try:
            return call(sql, params, many, context)
        except DatabaseError as error:
            if error.args and error.args[0] == _DEADLOCK and connection.in_atomic_block:
                connection.needs_rollback = True
            raise

    with connection.execute_wrapper(execute):
        yield


class Commit(Generic[T]):
    """One transaction of work: knows its answer, and whether it was committed, whatever was raised afterwards.

    Callbacks of a project (``transaction.on_commit``) run after the commit and may raise anything: an error out of
    them looks like one of the transaction, and is none.
    """

    def __init__(self, using: str) -> None:
        self.using = using
        self.happened = False
        self.answer: T | None = None

    def of(self, work: Callable[[], T]) -> T:
        """Calls the work inside `atomic` and keeps its answer."""
        self.happened, self.answer = False, None
        connection = connections[self.using]
        with atomic(self.using):
            if len(connection.atomic_blocks) == 1:
                connection.on_commit(self._note)  # the first of all callbacks
            answer = self.answer = work()
        return answer

    def _note(self) -> None:
        self.happened = True


class Parts:
    """What was written inside a transaction that is not ours, to be looked for once it has committed.

    Django's list of callbacks follows the savepoints of `atomic`. One that somebody opened by
    ``transaction.savepoint()`` and rolled back took rows with it, while their callbacks stay in the list.
    """

    def __init__(self) -> None:
        self._rows: dict[int, Any] = {}
        self._unknown: set[int] = set()

    @classmethod
    def of(cls, using: str) -> Parts:
        """The parts of the transaction that is open on this alias."""
        connection: Any = connections[using]
        outermost = connection.atomic_blocks[0] if connection.atomic_blocks else None
        remembered = getattr(connection, "_lifecycle_parts", None)
        if remembered is None or remembered[0] is not outermost or outermost is None:
            remembered = connection._lifecycle_parts = (outermost, cls())
        found: Parts = remembered[1]
        return found

    def add(self, row: Any) -> None:
        """A row of ours that was written; one that had the same key before was taken back (SQLite gives it again)."""
        self._rows[row.pk] = row
        self._unknown.add(row.pk)

    def stand(self, row: Any) -> bool:
        """Whether the row was committed; one SELECT for all that were added since the last question."""
        if self._unknown:
            asked, self._unknown = self._unknown, set()
            rows = type(row)._base_manager.using(row._state.db).filter(pk__in=asked)
            for pk in asked - set(rows.values_list("pk", flat=True)):
                del self._rows[pk]
        return self._rows.get(row.pk) is row
