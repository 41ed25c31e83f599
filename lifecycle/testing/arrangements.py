"""Arrangement: something a test has put in place, and that is put back."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

Thing = TypeVar("Thing")

# Everything that stands, in the order it was arranged; `reset` clears it.
_standing: list[Arrangement[Any]] = []


class Arrangement(Generic[Thing]):
    """In force from the moment it is made, until its ``with`` block ends, or `undo`, or the end of the test.

    Both forms read naturally: ``with travel(days=3): …`` and, for the rest of the test, ``lifecycle.travel(days=3)``.
    """

    def __init__(self, context: AbstractContextManager[Thing]) -> None:
        self._context = context
        self.thing: Thing = context.__enter__()
        self._in_force = True
        _standing.append(self)

    def undo(self) -> None:
        """Puts things back; doing so twice does no harm."""
        if self._in_force:
            self._in_force = False
            _standing.remove(self)
            self._context.__exit__(None, None, None)

    def __enter__(self) -> Thing:
        return self.thing

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


def reset() -> None:
    """Puts back everything that tests have arranged, the latest first."""
    while _standing:
        _standing[-1].undo()
