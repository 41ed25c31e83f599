"""Duration: a length of time as people read it, two units at most."""

from __future__ import annotations

import datetime as dt

# Signs, not words: the same in every language the shop speaks.
UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def spoken(length: dt.timedelta, units: int = 2) -> str:
    """``2 d 2 h``, ``1 min 16 s``, ``3 s``; nothing is shorter than 0 s. One unit if so wanted."""
    left = max(int(length.total_seconds()), 0)
    for place, (size, name) in enumerate(UNITS):
        if left >= size:
            first, rest = divmod(left, size)
            parts = [f"{first} {name}"]
            if units > 1 and place + 1 < len(UNITS):
                smaller, next_name = UNITS[place + 1]
                if rest // smaller:
                    parts.append(f"{rest // smaller} {next_name}")
            return " ".join(parts)
    return "0 s"


def countdown(length: dt.timedelta) -> str:
    """``2:08``; ``1:02:08`` above an hour."""
    left = max(int(length.total_seconds()), 0)
    minutes, seconds = divmod(left, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
