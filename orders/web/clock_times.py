"""Moment: a time as people read it, on the clock for today and with its date before."""

from __future__ import annotations

import datetime as dt

from django.utils import formats, timezone
from django.utils.translation import pgettext


def clock_time(moment: dt.datetime | str | None) -> str:
    """``14:06:12`` today, ``12 March 14:06:12`` before."""
    if moment is None:
        return ""
    if isinstance(moment, str):
        moment = dt.datetime.fromisoformat(moment)
    local = timezone.localtime(moment)
    if local.date() == timezone.localdate():
        return local.strftime("%H:%M:%S")
    return formats.date_format(local, pgettext("date before today", "j F H:i:s"))
