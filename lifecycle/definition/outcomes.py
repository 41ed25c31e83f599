"""Outcome: what an effect raises to say how it ended, when it did not simply return."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any


class EffectOutcome(Exception):
    """The base of the three words an effect may raise."""


class Fail(EffectOutcome):
    """A business no: ``raise Fail("card_declined", "The bank declined the card.")``.

    Args:
        code: a stable machine name; the follow-up finds it as ``input["code"]``.
        message: a sentence for people.
        details: JSON-able facts; the follow-up finds them as ``input["details"]``.
        retry: True to try again while attempts remain (default: a business no is final).
    """

    def __init__(
        self, code: str, message: str = "", details: Mapping[str, Any] | None = None, retry: bool = False
    ) -> None:
        super().__init__(code, message, details, retry)
        self.code = code
        self.message = message
        self.details = details
        self.retry = retry

    def __str__(self) -> str:
        return str(self.message) or self.code


class RetryAt(EffectOutcome):
    """Try again at a moment the other side named (``Retry-After``), as long as attempts remain.

    Args:
        when: the aware moment, or the time to wait from now.
    """

    def __init__(self, when: dt.datetime | dt.timedelta, message: str = "") -> None:
        super().__init__(when, message)
        self.when = when
        self.message = message

    def __str__(self) -> str:
        return self.message or f"asked to be tried again at {self.when}"


class Permanent(EffectOutcome):
    """A failure that no further attempt can mend: not retried, whatever attempts remain."""

    def __init__(self, message: str = "", code: str = "permanent") -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code

    def __str__(self) -> str:
        return self.message or self.code
