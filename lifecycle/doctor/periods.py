"""Period: a duration as people say it."""

from __future__ import annotations

import datetime as dt


def spoken(duration: dt.timedelta) -> str:
    """A duration in its largest fitting unit."""
    seconds = duration.total_seconds()
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
