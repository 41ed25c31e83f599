"""Timeouts of a lifecycle: when each of them fires next, and for how many records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from lifecycle import clock
from lifecycle.admin.lifecycles.counts import Counted
from lifecycle.admin.parts import times
from lifecycle.definition.compiled import CompiledTimeout, Definition


def timeout_rows(definition: Definition, counts: Mapping[str, Counted], current: Any) -> list[tuple[str, str]]:
    """Each timeout's transition, and when it fires next."""
    return [
        (str(definition.transitions[timeout.transition].label), _next(timeout, counts, current))
        for timeout in definition.timeouts.values()
    ]


def _next(timeout: CompiledTimeout, counts: Mapping[str, Counted], current: Any) -> str:
    waiting = [counts[state] for state in timeout.when if state in counts]
    number, length = sum(one.number for one in waiting), timeout.after(current)
    began = [one.oldest for one in waiting if one.oldest is not None]
    if not began:
        return _("nothing waits for it now; it fires after %(length)s") % {"length": times.spoken(length)}
    at = min(began) + length
    if at <= clock.now():
        return _("overdue for %(length)s, %(n)s waiting") % {"length": times.since(at), "n": number}
    if number == 1:
        return _("next in %(left)s") % {"left": times.until(at)}
    said = {"left": times.until(at), "n": number - 1, "length": times.spoken(length)}
    return _("next in %(left)s, then %(n)s more within %(length)s") % said
