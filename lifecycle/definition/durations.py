"""Duration: how long a trigger waits, judged every time it is computed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from lifecycle.exceptions import LifecycleError

Duration = Callable[[Any], dt.timedelta]

# Some thousand years: what can still be added to and taken from the present, in every calendar a database keeps.
LONGEST = dt.timedelta(days=365_000)


class InvalidDuration(LifecycleError):
    """``after`` answered something that is no duration."""

    code = "invalid_duration"


class After:
    """``after`` as compiled: called with the parameters, it answers how long, or says who did not."""

    def __init__(self, where: str, source: dt.timedelta | Duration) -> None:
        self.where = where
        self.source = source

    @property
    def fixed(self) -> dt.timedelta | None:
        """The duration when it does not depend on parameters."""
        return self.source if isinstance(self.source, dt.timedelta) else None

    def __call__(self, parameters: Any) -> dt.timedelta:
        """How long.

        Raises:
            InvalidDuration: the function answered something else than a ``timedelta`` from zero to `LONGEST`.
        """
        try:
            answer = self.source if isinstance(self.source, dt.timedelta) else self.source(parameters)
        except OverflowError as error:
            raise InvalidDuration(f"{self.where}: after raised OverflowError: {error}.") from error
        if not isinstance(answer, dt.timedelta):
            raise InvalidDuration(f"{self.where}: after answered {answer!r}; expected a datetime.timedelta.")
        if answer < dt.timedelta(0):
            raise InvalidDuration(f"{self.where}: after answered {answer}; expected zero or more.")
        if answer > LONGEST:
            raise InvalidDuration(f"{self.where}: after answered {answer}; expected at most {LONGEST.days} days.")
        return answer

    def __repr__(self) -> str:
        return f"<After {self.source!r} of {self.where}>"
