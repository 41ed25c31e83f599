"""Health: the tiles on top of the Lifecycles page: tick, queues, broker and clock, per database."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from lifecycle import clock, conf, dispatch
from lifecycle.admin.parts import times
from lifecycle.admin.parts.icons import icon
from lifecycle.models import Run, RunStatus, due
from lifecycle.store import aliases, ticks, timing

# A queue so far behind, with nobody at work on it, needs a person; so much further behind, it needs one in any case.
BEHIND = dt.timedelta(minutes=1)
FAR_BEHIND = dt.timedelta(minutes=10)
APART = dt.timedelta(seconds=5)


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One tile: well or not, one big word, one line of facts."""

    title: str
    well: bool
    big: str
    facts: str

    @property
    def icon(self) -> SafeString:
        """Tick or triangle."""
        return icon("check" if self.well else "warn")

    @property
    def tone(self) -> str:
        """Its ground."""
        return "success" if self.well else "danger"


def tiles() -> list[Tile]:
    """All tiles."""
    databases = aliases.with_our_tables()
    made: list[Tile] = []
    for using in databases:
        name = f" · {using}" if len(databases) > 1 else ""
        made += [_tick(using, name), *_queues(using, name)]
    made.append(_broker())
    made += [_clock(using, f" · {using}" if len(databases) > 1 else "") for using in databases]
    return made


def _tick(using: str, name: str) -> Tile:
    title, row, every = _("Tick") + name, ticks.read("main", using), conf.options().tick_every
    if row is None or row.last_started_at is None:
        facts = _("No tick has run here yet. Start a worker: timeouts, retries and lost leases wait for it.")
        return Tile(title=title, well=False, big=_("Never"), facts=facts)
    # The gate is taken before the work: a tick that hangs shows as one that began long ago.
    age = clock.now() - (row.last_finished_at or row.last_started_at)
    failures = int(row.counts.get("failures") or 0) if isinstance(row.counts, dict) else 0
    told = [_("every %(length)s") % {"length": times.spoken(every)}]
    if row.last_finished_at is not None and row.last_finished_at >= row.last_started_at:
        took = (row.last_finished_at - row.last_started_at).total_seconds() * 1000
        told.append(_("took %(n)s ms") % {"n": round(took)})
    if failures:
        told.append(ngettext("%(n)s part failed", "%(n)s parts failed", failures) % {"n": failures})
    else:
        told.append(_("no part failed"))
    well = age <= max(every * 4, dt.timedelta(seconds=30)) and not failures
    return Tile(title=title, well=well, big=_("%(length)s ago") % {"length": times.spoken(age)}, facts=" · ".join(told))


def _queues(using: str, name: str) -> list[Tile]:
    now = clock.now()
    heads = dict(due.queue_heads(using))
    # Only a lease that lasts is somebody at work: a killed worker leaves its row behind as running.
    held = Q(status=RunStatus.RUNNING, lease_until__gt=now)
    rows = (
        Run.objects.using(using)
        .filter(status__in=[RunStatus.QUEUED, RunStatus.RUNNING])
        .order_by()
        .values("queue")
        .annotate(
            due=Count("id", filter=Q(status=RunStatus.QUEUED, available_at__lte=now)),
            running=Count("id", filter=held),
            workers=Count(F("leased_by"), distinct=True, filter=held),
            lost=Count("id", filter=Q(status=RunStatus.RUNNING) & ~held),
        )
    )
    known: dict[str, Mapping[str, Any]] = {row["queue"]: row for row in rows}
    made = []
    for queue in sorted({"default", *known}):
        row = known.get(queue, {"due": 0, "running": 0, "workers": 0, "lost": 0})
        behind = max(now - heads[queue], dt.timedelta(0)) if queue in heads and row["due"] else dt.timedelta(0)
        well = behind <= (BEHIND if not row["running"] else FAR_BEHIND)
        big = _("%(length)s behind") % {"length": times.spoken(behind)} if row["due"] else _("Nothing due")
        title = _("Queue %(name)s") % {"name": queue} + name
        made.append(Tile(title=title, well=well, big=big, facts=_queue_facts(row, well=well)))
    return made


def _queue_facts(row: Mapping[str, Any], *, well: bool) -> str:
    told = [_("%(due)s due") % row, _("%(running)s running") % row]
    if row["workers"]:
        told.append(ngettext("%(n)s worker", "%(n)s workers", row["workers"]) % {"n": row["workers"]})
    elif not well:
        told.append(_("no worker at work"))
    if row["lost"]:
        told.append(ngettext("%(n)s lease ended", "%(n)s leases ended", row["lost"]) % {"n": row["lost"]})
    return ", ".join(told)


def _broker() -> Tile:
    """What this process has seen of the broker; asking it now could make the page wait for it."""
    dispatcher = dispatch.current()
    name = type(dispatcher).__name__
    breaker: Any = getattr(dispatcher, "breaker", None)
    if getattr(breaker, "open", False):
        facts = _("the last wake-up failed; workers find the work by themselves, a little later")
        return Tile(title=_("Broker"), well=False, big=_("Unreachable"), facts=facts)
    return Tile(title=_("Broker"), well=True, big=_("No trouble"), facts=_("seen from here, %(name)s") % {"name": name})


def _clock(using: str, name: str) -> Tile:
    apart = abs(timing.now(using) - clock.now())
    shown = _("%(n)s ms apart") % {"n": round(apart.total_seconds() * 1000)}
    if apart >= dt.timedelta(seconds=1):
        shown = _("%(length)s apart") % {"length": times.spoken(apart)}
    return Tile(title=_("Clock") + name, well=apart < APART, big=shown, facts=_("database and this process"))
