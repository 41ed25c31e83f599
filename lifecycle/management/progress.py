"""Progress: how far a long command has come, on stderr; stdout is the outcome, also for a program that reads it."""

from __future__ import annotations

import shutil
from types import TracebackType
from typing import Any, Self

from lifecycle import clock

# Where nobody watches (cron, a pipe), a line says no more often than this how far it is, and nothing if done sooner.
PATIENCE = 2.0
_CLEAR = "\r\x1b[K"


class Progress:
    """On a terminal one line that is written anew, elsewhere now and then a line; used as a context manager.

    ``-v 0`` is silent, ``-v 2`` says every step.
    """

    def __init__(self, stream: Any, *, verbosity: int) -> None:
        self._stream = stream
        self._silent = verbosity < 1
        self._in_place = verbosity == 1 and stream.isatty()
        self._pause = PATIENCE if verbosity == 1 and not self._in_place else 0.0
        self._last = clock.monotonic()
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def say(self, text: str) -> None:
        """Says how far it is, or what is done next."""
        now = clock.monotonic()
        if self._silent or now - self._last < self._pause:
            return
        self._last = now
        if self._in_place:
            self._write(_CLEAR + text[: max(shutil.get_terminal_size().columns - 1, 20)])
            self._shown = True
        else:
            self._stream.write(text)

    def clear(self) -> None:
        """Takes the line away; to be called before anything else is written to the terminal."""
        if self._shown:
            self._write(_CLEAR)
            self._shown = False

    def _write(self, text: str) -> None:
        # Unstyled: Django paints what goes to stderr red.
        self._stream.write(text, style_func=str, ending="")
        self._stream.flush()
