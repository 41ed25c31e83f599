"""Trying again: a transaction that lost a deadlock is run once more, if it is ours to run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, OperationalError, connections

T = TypeVar("T")

TRIES = 3
# PostgreSQL: serialization failure, deadlock. MySQL, MariaDB: deadlock, lock wait timeout.
_STATES = {"40001", "40P01"}
_NUMBERS = {1213, 1205, 1020}


def in_own_transaction(work: Callable[[], T], using: str) -> T:
    """Calls ``work``, which opens a transaction; up to three times when the database chose it as a deadlock's victim.

    Inside somebody else's transaction it is called once: only the owner of the outermost transaction may repeat it.
    """
    if connections[using].in_atomic_block:
        return work()
    for attempt in range(1, TRIES):
        try:
            return work()
        except DatabaseError as error:
            if not lost_a_race(error):
                raise
            time.sleep(random.uniform(0.005, 0.03) * attempt)  # noqa: S311 jitter, no secret
    return work()


def lost_a_race(error: BaseException) -> bool:
    """Whether the database gave this transaction up in favour of another, so that it may simply be run again."""
    cause = error.__cause__
    if getattr(cause, "sqlstate", None) in _STATES:
        return True
    if cause is not None and cause.args and cause.args[0] in _NUMBERS:
        return True
    return isinstance(error, OperationalError) and "database is locked" in str(error)
