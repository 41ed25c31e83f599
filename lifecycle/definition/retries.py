"""Retry: how often, how far apart, and after which errors an effect is tried again."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Retry:
    """When an effect's failed attempt is followed by another.

    The delay after failed attempt *n* is ``min(backoff × factor^(n−1), maximum)``, give or take ``jitter``.

    Args:
        attempts: how many attempts in all, including the first; None: no limit.
        total: how long after the start of the first attempt another one may begin; None: no limit. It does not
            interrupt a running attempt, and does not apply to crashes.
        backoff: the delay after the first failure.
        factor: what each next delay is multiplied by.
        maximum: the longest delay.
        jitter: the share (0 to 1) by which a delay varies at random, so that many failures do not return at once.
        retry_on: only these exception classes lead to another attempt (default: all).
        no_retry_on: these exception classes never lead to another attempt.
    """

    attempts: int | None = 1
    total: dt.timedelta | None = None
    backoff: dt.timedelta = dt.timedelta(seconds=1)
    factor: float = 2
    maximum: dt.timedelta = dt.timedelta(hours=1)
    jitter: float = 0.1
    retry_on: tuple[type[BaseException], ...] = (Exception,)
    no_retry_on: tuple[type[BaseException], ...] = ()

    def delay(self, failed: int) -> dt.timedelta:
        """How long to wait after ``failed`` failed attempts (1 or more), jitter included."""
        seconds = self.backoff.total_seconds()
        ceiling = self.maximum.total_seconds()
        for _ in range(failed - 1):
            if not 0 < seconds < ceiling or self.factor <= 1:
                break
            seconds *= self.factor
        seconds = min(seconds, ceiling)
        return dt.timedelta(seconds=seconds * (1 + random.uniform(-self.jitter, self.jitter)))  # noqa: S311 not a secret

    def wants(self, error: BaseException) -> bool:
        """Whether this error may be tried again at all."""
        return isinstance(error, self.retry_on) and not isinstance(error, self.no_retry_on)
