"""Count: how many records are in each state, since when the oldest, and whether that is too long."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Min
from django.http import HttpRequest

from lifecycle import clock
from lifecycle.admin.parts import addresses, badges, times
from lifecycle.definition.compiled import Definition

# A state people cannot leave, and time neither, is passed through in seconds; after so long something is stuck.
LATE_AFTER = dt.timedelta(hours=1)
# A timeout the tick has not come to yet is not late.
GRACE = dt.timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Counted:
    """One state's records: how many, since when the oldest."""

    number: int
    oldest: dt.datetime | None


def counted(definition: Definition, using: str) -> dict[str, Counted]:
    """Records per state and the longest stay: one query, answered by the index the library asks for."""
    rows = (
        definition.model._base_manager.using(using)
        .order_by()
        .values_list(definition.state_field)
        .annotate(number=Count("pk"), oldest=Min(definition.changed_at_field))
    )
    return {str(state): Counted(number=number, oldest=oldest) for state, number, oldest in rows}


def is_late(definition: Definition, state: str, here: Counted, current: Any) -> bool:
    """Whether the longest stay is longer than time allows; where nobody and nothing ends it, than an hour."""
    known = definition.states.get(state)
    if known is None or known.final or here.oldest is None:
        return False
    stayed = clock.now() - here.oldest
    limits = [one.after(current) + GRACE for one in definition.timeouts.values() if state in one.when]
    if limits:
        return stayed > min(limits)
    leaving = definition.leaving(state)
    by_date = any(state in one.when for one in definition.deadlines.values())
    return bool(leaving) and not any(edge.manual for edge in leaving) and not by_date and stayed > LATE_AFTER


def state_rows(
    request: HttpRequest, site: Any, definition: Definition, counts: Mapping[str, Counted], late: set[str]
) -> list[dict[str, Any]]:
    """The picture's numbers as a table, with the list of each state's records; also states nobody declares."""
    base = records_url(request, site, definition)
    made = []
    for name in [*definition.states, *(one for one in counts if one not in definition.states)]:
        here = counts.get(name)
        if here is None:
            continue
        made.append(
            {
                "badge": badges.state_badge(definition, name),
                "number": here.number,
                "oldest": times.since(here.oldest),
                "late": name in late,
                "url": f"{base}?{definition.state_field}={name}" if base and name in definition.states else "",
            }
        )
    return made


def records_url(request: HttpRequest, site: Any, definition: Definition) -> str:
    """The list of the records; empty where this site has none, or this user may not see it."""
    model = definition.model
    if not site.is_registered(model) or not site.get_model_admin(model).has_view_permission(request):
        return ""
    return addresses.of(site, f"{model._meta.app_label}_{model._meta.model_name}_changelist")
