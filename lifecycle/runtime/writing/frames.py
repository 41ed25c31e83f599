"""Frames: the transitions under way in this thread, so that a hook that moves its own record on is noticed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from lifecycle.exceptions import NestedTooDeep
from lifecycle.store.record_keys import RecordKey


class Frame:
    """One transition whose hooks are running. ``passed`` is set when its record was moved on from inside."""

    __slots__ = ("key", "passed")

    def __init__(self, key: RecordKey) -> None:
        self.key = key
        self.passed = False


LIMIT = 50  # well before Python's own, which is met wherever the code happens to be


class _Stack(threading.local):
    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.noticed: list[set[RecordKey]] = []


_stack = _Stack()


@contextmanager
def noticing() -> Iterator[set[RecordKey]]:
    """The records that are moved by whatever the block calls."""
    found: set[RecordKey] = set()
    _stack.noticed.append(found)
    try:
        yield found
    finally:
        _stack.noticed.pop()  # not remove(): two empty sets are equal


@contextmanager
def entered(key: RecordKey) -> Iterator[Frame]:
    """Stands around the hooks of one transition.

    When it ends without an exception, frames further out for the same record and lifecycle learn that the record moved
    on. (Another lifecycle on the same row, or another record, does not count.)

    Raises:
        NestedTooDeep: too many transitions stand around this one already.
    """
    if len(_stack.frames) >= LIMIT:
        raise NestedTooDeep(
            f"Hooks have fired transitions whose hooks fired transitions, {LIMIT} deep; the last is of "
            f"'{key.lifecycle}' {key.record_id}. Fire the next one when this one is committed, as the on_success of an "
            "effect, or many at once with fire_many.",
            lifecycle=key.lifecycle,
            record_id=key.record_id,
        )
    frame = Frame(key)
    _stack.frames.append(frame)
    try:
        yield frame
    finally:
        _stack.frames.remove(frame)
    moved([key])


def moved(records: Iterable[RecordKey]) -> None:
    """Tells whoever stands around that these records moved on."""
    if not (_stack.noticed or _stack.frames):
        return
    keys = set(records)
    for noticed in _stack.noticed:
        noticed |= keys
    for outer in _stack.frames:
        if outer.key in keys:
            outer.passed = True
