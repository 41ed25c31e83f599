"""Alarm: a timer that interrupts an effect in the main thread when its time is up."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class TimedOut(BaseException):
    """Raised inside an effect whose time is up; no ``Exception``, so that ``except Exception`` does not swallow it."""


class Alarm:
    """Armed while its ``with`` block runs, in a main thread where nobody else uses SIGALRM; otherwise it does nothing
    (the watchdog then ends the attempt in the rows).

    It is off before the block is left: no statement of ours is ever interrupted. A statement interrupted half-way
    leaves its connection unusable, and a commit may have happened (P23).
    """

    __slots__ = ("_armed", "_before", "_seconds", "rang", "usable")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._armed = False
        self._before: Any = None
        self.rang = False
        self.usable = _is_free()

    def __enter__(self) -> Self:
        if self.usable:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, max(self._seconds, 0.001))
        return self

    def __exit__(self, *exc: object) -> None:
        # First the flag: a signal that is already on its way then finds nobody to interrupt.
        self._armed = False
        if self.usable:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            self.rang = True
            raise TimedOut


def _is_free() -> bool:
    """Whether this thread can use SIGALRM without taking it from somebody (another library's handler or timer)."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return False
    return (
        signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
