"""Work: the effect runs and held triggers of a lifecycle that are not done, from worst to best."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Min, Q
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from lifecycle import clock
from lifecycle.admin.parts import addresses, badges, times
from lifecycle.definition.compiled import Definition
from lifecycle.models import FollowUp, Run, RunStatus


@dataclass(frozen=True, kw_only=True)
class WorkRow:
    """One line of the work table, with the list it leads to."""

    name: str
    number: int
    badge: SafeString
    url: str
    detail: str


def unfinished(using: str) -> dict[str, list[dict[str, Any]]]:
    """What is not simply done, by lifecycle and effect: one query for all of them."""
    now = clock.now()
    # Only a lease that lasts is somebody at work.
    held = Q(status=RunStatus.RUNNING, lease_until__gt=now)
    left = Q(status=RunStatus.RUNNING) & ~held
    undone = Q(status__in=[RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.FAILED, RunStatus.DEAD])
    counts = (
        Run.objects.using(using)
        .filter(undone | Q(follow_up__in=[FollowUp.PENDING, FollowUp.ABANDONED]))
        .order_by()
        .values("lifecycle", "effect", "status", "follow_up")
        .annotate(
            number=Count("id"),
            due=Count("id", filter=Q(status=RunStatus.QUEUED, available_at__lte=now)),
            held=Count("id", filter=held),
            left=Count("id", filter=left),
            first_due=Min("available_at"),
            first_held=Min("started_at", filter=held),
            first_left=Min("lease_until", filter=left),
            first_finished=Min("finished_at"),
            next_try=Min("follow_up_due_at"),
        )
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for row in counts:
        found.setdefault(row["lifecycle"], []).append(dict(row))
    return found


def work_rows(definition: Definition, counts: Sequence[Any], held: int, site: Any) -> list[WorkRow]:
    """From worst to best."""
    runs = addresses.of(site, "lifecycle_run_changelist") + f"?lifecycle={definition.name}"
    holds = addresses.of(site, "lifecycle_triggerhold_changelist") + f"?lifecycle={definition.name}"

    def of(**wanted: str) -> list[Any]:
        return [row for row in counts if all(row[key] == value for key, value in wanted.items())]

    def effects(some: Sequence[Any]) -> str:
        return ", ".join(sorted({row["effect"] for row in some}))

    def first(some: Sequence[Any], key: str) -> dt.datetime | None:
        instants = [row[key] for row in some if row[key] is not None]
        return min(instants) if instants else None

    def row(
        name: str, some: Sequence[Any], tone: str, icon: str, query: str, detail: str, key: str = "number"
    ) -> WorkRow:
        number = sum(one[key] for one in some)
        made = badges.badge(tone if number else "neutral", number, icon)
        return WorkRow(name=name, number=number, badge=made, url=f"{runs}&{query}", detail=detail if number else "")

    abandoned, dead, failed = of(follow_up="abandoned"), of(status="dead"), of(status="failed")
    waiting, queued, running = of(follow_up="pending"), of(status="queued"), of(status="running")
    since = {"failed": first(failed, "first_finished"), "due": first(queued, "first_due")}
    began, ended = first(running, "first_held"), first(running, "first_left")
    longest = _("longest %(length)s") % {"length": times.since(began)} if began else ""
    next_try = _("next try %(time)s") % {"time": times.written(first(waiting, "next_try"))}
    made = [
        row(_("Follow-up abandoned"), abandoned, "danger", "flag", "follow_up=abandoned", effects(abandoned)),
        row(_("Dead"), dead, "danger", "bolt", "status=dead", effects(dead)),
        row(_("Failed"), failed, "danger", "cross", "status=failed", _since(effects(failed), since["failed"])),
        row(_("Follow-up waiting"), waiting, "waiting", "glass", "follow_up=pending", next_try),
    ]
    held_badge = badges.badge("waiting" if held else "neutral", held, "clock")
    made.append(WorkRow(name=_("Timeout refused"), number=held, badge=held_badge, url=holds, detail=""))
    oldest = _("oldest %(length)s") % {"length": times.since(since["due"])} if since["due"] else ""
    if ended:
        # A worker that never came back; the next tick takes its run back.
        said = _("since %(length)s") % {"length": times.since(ended)}
        made.append(row(_("Lease ended"), running, "waiting", "warn", "status=running", said, "left"))
    made += [
        row(_("Due"), queued, "neutral", "ring", "status=queued", oldest, "due"),
        row(_("Running"), running, "progress", "half", "status=running", longest, "held"),
    ]
    return made


def _since(names: str, moment: dt.datetime | None) -> str:
    return _("%(names)s, %(length)s ago") % {"names": names, "length": times.since(moment)} if moment else names
