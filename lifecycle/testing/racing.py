"""Race: calls on connections of their own, let go at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connections

TIME_LIMIT = 30.0  # seconds; nothing here waits for time to pass, so reaching it means that something hangs


@dataclass(frozen=True, kw_only=True)
class Finish:
    """How one runner of a race came in: with a value, or with an error."""

    value: Any = None
    error: BaseException | None = None

    @property
    def won(self) -> bool:
        """Whether it came in without an error."""
        return self.error is None

    def get(self) -> Any:
        """The value; the error is raised."""
        if self.error is not None:
            raise self.error
        return self.value


def race(*runners: Callable[[], Any], seconds: float = TIME_LIMIT) -> list[Finish]:
    """Runs the callables at once, each in a thread with its own database connections, which it closes.

    The threads start together behind a barrier. To hold them at a point inside, share a `meeting`.

    Args:
        runners: callables without arguments. What they get from a database must be read inside: instances of the
            test's own connection are for looking up keys only.
        seconds: how long the whole may take.

    Returns:
        One `Finish` per runner, in their order.
    """
    _must_really_commit()
    start = meeting(len(runners), seconds=seconds)
    finishes: list[Finish | None] = [None] * len(runners)

    def run(index: int, runner: Callable[[], Any]) -> None:
        try:
            start()
            finishes[index] = Finish(value=runner())
        except BaseException as error:  # noqa: BLE001 whatever it is, it is how this runner came in
            finishes[index] = Finish(error=error)
        finally:
            connections.close_all()

    threads = [
        threading.Thread(target=run, args=(index, runner), name=f"race-{index}", daemon=True)
        for index, runner in enumerate(runners)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
    late = [index for index, finish in enumerate(finishes) if finish is None]
    if late:
        raise AssertionError(f"race(): runners {late} did not come in within {seconds:g} seconds.")
    return [finish for finish in finishes if finish is not None]


def meeting(number: int, *, seconds: float = TIME_LIMIT) -> Callable[[], None]:
    """A point where so many threads wait for each other; after the time limit it fails in all of them."""
    barrier = threading.Barrier(number)

    def wait() -> None:
        barrier.wait(seconds)

    return wait


def _must_really_commit() -> None:
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            raise AssertionError(
                "race() needs rows that other connections see, and this test is inside a transaction. Use "
                "TransactionTestCase or @pytest.mark.django_db(transaction=True)."
            )
        if getattr(connection, "is_in_memory_db", bool)():
            raise AssertionError(
                "race() needs a database that several connections share: give SQLite a file, "
                "DATABASES['default']['TEST'] = {'NAME': 'test.sqlite3'}."
            )
