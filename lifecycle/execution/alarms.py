"""Alarm: a timer that interrupts an effect in the main thread when its time is up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from lifecycle import clock
from lifecycle.execution.limits import FOR_EVER, Limits

_SHORTEST = 0.001


class Alarm:
    """Armed while its ``with`` block runs in a main thread; elsewhere it does nothing (there the watchdog alone ends
    the attempt, in the rows). A timer somebody else has running is borrowed when it ends later, and goes on afterwards.

    It is off before the block is left: no statement of ours is ever interrupted. A statement interrupted half-way
    leaves its connection unusable, and a commit may have happened (P23).

    Args:
        limits: when the block's time is up; a heartbeat may have moved that by the time the timer rings.
        first: called when it is over, before the block is interrupted; must not raise.
    """

    __slots__ = ("_armed", "_before", "_first", "_limits", "_other", "_since", "rang", "usable")

    def __init__(self, limits: Limits, first: Callable[[], None] = lambda: None) -> None:
        self._first = first
        self._limits = limits
        self._armed = False
        self._before: Any = None
        self._other = (0.0, 0.0)
        self._since = 0.0
        self.rang = False
        self.usable = _is_free(limits)

    def __enter__(self) -> Self:
        if self.usable:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            self._since = clock.monotonic()
            self._armed = True
            self._other = self._wind()
        return self

    def __exit__(self, *exc: object) -> None:
        # First the flag: a signal that is already on its way then finds nobody to interrupt.
        self._armed = False
        if self.usable:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            left, interval = self._other
            if left:
                left = max(left - (clock.monotonic() - self._since), _SHORTEST)
                signal.setitimer(signal.ITIMER_REAL, left, interval)

    def _wind(self) -> tuple[float, float]:
        return signal.setitimer(signal.ITIMER_REAL, max(self._limits.ends_at - clock.monotonic(), _SHORTEST))

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if not self._armed:
            return
        if clock.monotonic() < self._limits.ends_at:  # a heartbeat came meanwhile
            self._wind()
            return
        self._armed = False
        self.rang = True
        exceeded = self._limits.exceeded()
        self._first()
        raise exceeded


def _is_free(limits: Limits) -> bool:
    """Whether this thread may use SIGALRM for so long."""
    if limits.ends_at == FOR_EVER:
        return False
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return False
    if signal.getsignal(signal.SIGALRM) is None:  # installed by C code: it could not be put back
        return False
    left = signal.getitimer(signal.ITIMER_REAL)[0]
    return left == 0 or clock.monotonic() + left > limits.deadline
