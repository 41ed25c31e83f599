"""Times as people read them: two units at most, the clock for today, date and clock before."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from lifecycle import clock


def spoken(length: dt.timedelta) -> str:
    """``2 d 2 h``, ``1 min 16 s``, ``0.3 s``; nothing is shorter than 0 s."""
    seconds = max(length.total_seconds(), 0.0)
    if 0.05 < seconds < 1:
        return _("%(number)s s") % {"number": number_format(seconds, decimal_pos=1)}
    left = int(seconds)
    units = ((86400, _("%(number)s d")), (3600, _("%(number)s h")), (60, _("%(number)s min")), (1, _("%(number)s s")))
    for place, (size, words) in enumerate(units):
        if left >= size:
            first, rest = divmod(left, size)
            parts = [words % {"number": first}]
            if place + 1 < len(units):
                smaller, next_words = units[place + 1]
                if rest // smaller:
                    parts.append(next_words % {"number": rest // smaller})
            return " ".join(parts)
    return _("%(number)s s") % {"number": 0}


def since(moment: dt.datetime | None) -> str:
    """How long ago; empty for what has no beginning."""
    return spoken(clock.now() - moment) if moment is not None else ""


def until(moment: dt.datetime) -> str:
    """How long until then."""
    return spoken(moment - clock.now())


def written(moment: dt.datetime | None) -> str:
    """The clock for today; date and clock otherwise; the year when it is another."""
    if moment is None:
        return ""
    try:
        local, now = timezone.localtime(moment), timezone.localtime(clock.now())
    except OverflowError:  # a date at the edge of the calendar, in a zone beyond it
        return moment.isoformat(sep=" ", timespec="seconds")
    if local.date() == now.date():
        return str(date_format(local, "H:i:s"))
    return str(date_format(local, "j M H:i:s" if local.year == now.year else "j M Y H:i:s"))


def tag(moment: dt.datetime | None) -> SafeString | str:
    """A moment as a ``<time>`` with its full form for machines."""
    if moment is None:
        return ""
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(timespec="seconds"), written(moment))


def shown(value: Any) -> str:
    """A value of a parameter or of an input as people read it: lists with commas, names with their values."""
    if isinstance(value, dt.timedelta):
        return spoken(value)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_inner(one)}" for key, one in value.items()) or "–"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(_inner(one) for one in value) or "–"
    return "–" if value is None else str(value)


def _inner(value: Any) -> str:
    """Inside another: in brackets where it has commas of its own."""
    text = shown(value)
    return f"({text})" if isinstance(value, (Mapping, list, tuple, set, frozenset)) and text != "–" else text
