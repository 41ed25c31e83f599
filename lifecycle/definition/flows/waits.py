"""Wait: what has to happen before a step executes — messages, a time — and in which combination."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lifecycle.exceptions import LifecycleError


class InvalidWait(LifecycleError):
    """What ``wait_for`` answered cannot be waited for."""

    code = "invalid_wait"


@dataclass(frozen=True, kw_only=True)
class ChannelCondition:
    """So many messages of a channel; the lower bound alone says when it is ready, the upper how many are taken."""

    channel: str
    least: int
    most: int | None
    id: str = ""

    def __post_init__(self) -> None:
        if self.least < 0 or (self.most is not None and self.most < self.least):
            raise InvalidWait(
                f"Channel '{self.channel}': expected 0 ≤ least ≤ most, got least={self.least}, most={self.most}."
            )


@dataclass(frozen=True)
class Timer:
    """A time: ``Timer(timedelta(hours=48))`` from the moment the wait is stored.

    Args:
        after: how long; not negative.
        id: a name to ask for: ``ctx.timer_fired("late")``.
    """

    after: dt.timedelta
    id: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.after, dt.timedelta) or self.after < dt.timedelta(0):
            raise InvalidWait(f"Timer: expected a timedelta of 0 or more, got {self.after!r}.")


Condition = ChannelCondition | Timer
Mode = Literal["all", "any"]


@dataclass(frozen=True, kw_only=True)
class Wait:
    """The conditions of one wait. ``any``: the first that is ready, timers before channels; ``all``: all at once."""

    mode: Mode
    conditions: tuple[Condition, ...]

    @classmethod
    def until(cls, condition: Condition) -> Wait:
        """One condition."""
        return cls.all_of(condition)

    @classmethod
    def all_of(cls, *conditions: Condition) -> Wait:
        """Every condition, at once."""
        return cls(mode="all", conditions=_checked(conditions))

    @classmethod
    def any_of(cls, *conditions: Condition) -> Wait:
        """The first condition that is ready; the others consume nothing."""
        return cls(mode="any", conditions=_checked(conditions))

    @classmethod
    def skip(cls) -> Wait:
        """Nothing: the step executes at once."""
        return cls(mode="all", conditions=())


def _checked(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    for one in conditions:
        if not isinstance(one, (ChannelCondition, Timer)):
            raise InvalidWait(f"Wait: expected timers and conditions of channels, got {one!r}.")
    ids = [one.id for one in conditions if one.id]
    if len(set(ids)) != len(ids):
        raise InvalidWait(f"Wait: two conditions have the id {next(i for i in ids if ids.count(i) > 1)!r}.")
    return tuple(conditions)
