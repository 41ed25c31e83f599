"""Progress: how far a long command has come, on stderr; stdout is the outcome, also for a program that reads it."""

from __future__ import annotations

from typing import Any

from lifecycle import clock

# A command that is done sooner says nothing.
PATIENCE = 2.0


class Progress:
    """Lines that come no faster than a person reads them."""

    def __init__(self, stream: Any, *, verbosity: int) -> None:
        self._stream = stream
        self._silent = verbosity < 1
        # `-v 2` asks for every step.
        self._pause = 0.0 if verbosity > 1 else PATIENCE
        self._last = clock.monotonic()

    def say(self, text: str) -> None:
        """Writes the text, unless another was written just now."""
        now = clock.monotonic()
        if self._silent or now - self._last < self._pause:
            return
        self._last = now
        self._stream.write(text)
