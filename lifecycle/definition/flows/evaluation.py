"""Evaluation: whether a wait is over, and which messages it takes; plain Python over what lies there."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Stored(Protocol):
    """A condition as it is stored."""

    name: str
    position: int
    channel: str
    least: int
    most: int | None
    due_at: dt.datetime | None
    skipped: bool


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What ended a wait: the messages taken, by channel, and every timer that was due by then."""

    messages: Mapping[str, Sequence[Any]]
    fired: Sequence[str]


def over(mode: str, conditions: Sequence[Stored], lying: Mapping[str, Sequence[Any]], now: dt.datetime) -> Taken | None:
    """What ends the wait now, or None.

    ``any``: timers in declared order, then channels in declared order; only the winner consumes. ``all``: each channel
    condition gets its least in declared order, then the surplus goes round in that order up to each one's most.

    Args:
        lying: the messages nobody took yet, by channel, oldest first.
    """
    timers = [one for one in conditions if not one.channel]
    fired = [one.name or str(one.position) for one in timers if is_due(one, now)]
    channels = [one for one in conditions if one.channel]
    if mode == "any":
        if fired:
            return Taken(messages={}, fired=fired)
        for one in channels:
            if len(lying.get(one.channel, ())) >= one.least:
                return Taken(messages=_shared([one], lying), fired=fired)
        return None
    if len(fired) < len(timers):
        return None
    for channel in {one.channel for one in channels}:
        wanted = sum(one.least for one in channels if one.channel == channel)
        if len(lying.get(channel, ())) < wanted:
            return None
    return Taken(messages=_shared(channels, lying), fired=fired)


def is_due(condition: Stored, now: dt.datetime) -> bool:
    """Whether a timer has fired, or was skipped, which is the same."""
    return condition.skipped or (condition.due_at is not None and condition.due_at <= now)


def _shared(channels: Sequence[Stored], lying: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    taken: dict[str, list[Any]] = {}
    for channel in dict.fromkeys(one.channel for one in channels):
        there = lying.get(channel, ())
        mine = [one for one in channels if one.channel == channel]
        count = sum(one.least for one in mine)
        for one in mine:
            count += len(there) if one.most is None else one.most - one.least
        taken[channel] = list(there[:count])
    return taken
