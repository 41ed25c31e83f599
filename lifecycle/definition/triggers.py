"""Trigger: what time does — a timeout in a state, a date on the record, a reminder — as declared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Never

from lifecycle.definition.declared import UNSET, Declared, given

After = dt.timedelta | Callable[[Any], dt.timedelta]


class Trigger(Declared):
    """The base of the three; its name is the attribute it is assigned to and is stored in rows."""

    word = "trigger"
    subject: Any
    when: Any


class Timeout(Trigger):
    """Fires a transition when a record has stayed too long.

    Args:
        transition: the transition, as an object or a name.
        when: the state or states in which it waits.
        after: how long a record may stay, a ``timedelta`` or ``(parameters) → timedelta``.
        batch_size: how many records are locked and fired together.
    """

    word = "timeout"

    def __init__(self, transition: Any, when: Any, after: After, batch_size: int = UNSET, **unknown: Never) -> None:
        options = given(after=after, batch_size=batch_size)
        self._fill(subject=transition, when=when, options=options, unknown=unknown, name="", attribute="")


class Deadline(Trigger):
    """Fires a transition when a date on the record has come.

    Args:
        transition: the transition, as an object or a name.
        when: the state or states in which it waits.
        at: the name of a date or datetime field of the record, or an ORM expression.
        batch_size: how many records are locked and fired together.
    """

    word = "deadline"

    def __init__(self, transition: Any, when: Any, at: Any, batch_size: int = UNSET, **unknown: Never) -> None:
        options = given(at=at, batch_size=batch_size)
        self._fill(subject=transition, when=when, options=options, unknown=unknown, name="", attribute="")


class Reminder(Trigger):
    """Enqueues an effect while the wait goes on, without a transition.

    Args:
        effect: the effect, as an object or a name.
        when: the state or states in which it waits.
        after: how long after the stay began, a ``timedelta`` or ``(parameters) → timedelta``.
        repeat: how long until it comes again; None: once per stay.
    """

    word = "reminder"

    def __init__(
        self, effect: Any, when: Any, after: After, repeat: dt.timedelta | None = None, **unknown: Never
    ) -> None:
        options = given(after=after, repeat=repeat)
        self._fill(subject=effect, when=when, options=options, unknown=unknown, name="", attribute="")
