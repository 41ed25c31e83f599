"""Trying again: a transaction that lost a deadlock is run once more, if it is ours to run and was not committed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, OperationalError, connections

from lifecycle.store.transactions import Commit

T = TypeVar("T")

TRIES = 3
# PostgreSQL: serialization failure, deadlock. MySQL, MariaDB: deadlock, lock wait timeout.
_STATES = {"40001", "40P01"}
_NUMBERS = {1213, 1205, 1020}
_OTHERS_WON = _NUMBERS - {1205}  # after a wait that timed out nobody has written anything yet


def lost_a_race(error: BaseException) -> bool:
    """Whether the database gave this transaction up in favour of another, so that it may simply be run again."""
    cause = error.__cause__
    if getattr(cause, "sqlstate", None) in _STATES:
        return True
    if cause is not None and cause.args and cause.args[0] in _NUMBERS:
        return True
    return isinstance(error, OperationalError) and "database is locked" in str(error)


def others_won(error: BaseException) -> bool:
    """Whether what was read under this transaction was changed by others, as its isolation or a deadlock says."""
    cause = error.__cause__
    if getattr(cause, "sqlstate", None) in _STATES:
        return True
    return cause is not None and bool(cause.args) and cause.args[0] in _OTHERS_WON


def in_own_transaction(
    work: Callable[[], T],
    using: str,
    *,
    settle: Callable[[T], object] | None = None,
    undo: Callable[[], object] | None = None,
    again: Callable[[BaseException], bool] = lost_a_race,
    lost: Callable[[], Exception] | None = None,
) -> T:
    """Does the work in a transaction; up to three times when the database chose it as a deadlock's victim.

    Inside somebody else's transaction it is done once, in a savepoint: only the owner of the outermost transaction may
    repeat it. What was committed is never repeated: an error out of the project's callbacks after the commit is raised
    once, as Django raises it.

    Args:
        work: what is done; it may be called again.
        using: the database.
        settle: called with the answer once it stands, also when a callback then fails.
        undo: called after each try of which nothing stands.
        again: which errors of the database are worth another try.
        lost: makes the error to raise when others won at every try; without it, that of the database.

    Raises:
        TransactionBroken: the work ended as if all were well, but cannot be committed.
    """
    commit: Commit[T] = Commit(using)
    tries = 1 if connections[using].in_atomic_block else TRIES
    for attempt in range(1, tries + 1):
        try:
            answer = commit.of(work)
        except BaseException as error:
            if commit.happened:
                if settle is not None:
                    settle(commit.answer)  # type: ignore[arg-type]  # committed, hence answered
                raise
            if undo is not None:
                undo()
            if not isinstance(error, DatabaseError) or not again(error):
                raise
            if attempt == tries:
                if lost is not None and tries > 1 and others_won(error):
                    raise lost() from error
                raise
            time.sleep(random.uniform(0.005, 0.03) * attempt)  # noqa: S311 jitter, no secret
        else:
            if settle is not None:
                settle(answer)
            return answer
    raise AssertionError("unreachable: the last try answers or raises")
