"""Timestamp: a point in time in a query string, within what every database can compare with."""

from __future__ import annotations

import datetime as dt

# Nobody waits since the year 1; but a moment at the edge of the calendar has no name in another time zone.
_EARLIEST = dt.datetime(1, 1, 2, tzinfo=dt.UTC)
_LATEST = dt.datetime(9999, 12, 30, tzinfo=dt.UTC)


def within_calendar(moment: dt.datetime) -> dt.datetime:
    """The moment, or the nearest one that every database can compare with."""
    # In UTC: an offset such as +21:56, which ISO 8601 permits, is none that PostgreSQL reads.
    return min(max(moment, _EARLIEST), _LATEST).astimezone(dt.UTC)
