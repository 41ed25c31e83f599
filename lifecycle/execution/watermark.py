"""Watermark: from which moment on a queue is looked through."""

from __future__ import annotations

import datetime as dt

from lifecycle import clock
from lifecycle.store.claims import ClaimedRun

# The watermark hides rows that were committed late; so often a look without it finds them.
WATERMARK_SECONDS = 1.0


class Watermark:
    """Where a drain's last claim was in the index, so that the next does not walk over what was claimed before."""

    def __init__(self) -> None:
        self._run: ClaimedRun | None = None
        self._since = clock.monotonic()

    def seen(self, run: ClaimedRun) -> None:
        """Moves on."""
        self._run = run

    def drop(self) -> None:
        """Looks at everything again."""
        self._run = None
        self._since = clock.monotonic()

    def value(self) -> dt.datetime | None:
        """The moment from which on to look, or None."""
        if clock.monotonic() - self._since >= WATERMARK_SECONDS:
            self.drop()
        return self._run.available_at if self._run is not None else None
