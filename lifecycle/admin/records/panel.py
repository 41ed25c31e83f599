"""Panel: one record's lifecycle as its page shows it: where it is, what may be done, how it got there, its effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from lifecycle import drawing
from lifecycle.admin.parts import addresses, badges, labels, permissions, times
from lifecycle.admin.parts.entries import entered, happened, who
from lifecycle.admin.records import effect_runs, triggers
from lifecycle.admin.records.tools import Tool, elsewhere, tool
from lifecycle.definition.compiled import Definition
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import view
from lifecycle.runtime.acting import actor_of
from lifecycle.store import records

HISTORY, RUNS = 50, 20


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Everything the template says about one lifecycle of one record."""

    definition: Definition
    ident: str
    title: str
    version: int
    badge: SafeString
    for_long: str
    since: Any
    by_itself: list[Any]
    open: list[Tool]
    closed: list[Tool]
    elsewhere: str
    picture: SafeString
    near: SafeString
    legend: SafeString
    size: int
    is_large: bool
    outline: SafeString
    runs_title: str
    runs: list[dict[str, Any]]
    more_runs: str
    history: list[dict[str, Any]]
    more_history: str

    @property
    def tools(self) -> list[Tool]:
        """Open ones first."""
        return [*self.open, *self.closed]


def panel(request: HttpRequest, page: Any, definition: Definition, record: Any) -> Panel:
    """The panel of one lifecycle of one record, for this viewer."""
    seen = view(record, actor=actor_of(request), lifecycle=definition, history=HISTORY + 1, runs=RUNS + 1)
    using = seen.record._state.db or "default"
    found = [tool(request, page, definition, seen.record, one) for one in seen.available]
    allowed = [one for one in found if one.open]
    path = [(e.version, e.transition, e.source or "", e.target) for e in reversed(seen.history)]
    marked: dict[str, Any] = {"current": seen.state, "path": path, "open_transitions": {one.name for one in allowed}}
    ident = f"lc-{definition.name}"
    may_see_runs = permissions.may_see(request.user, Run)
    changed_at = getattr(seen.record, definition.changed_at_field)
    state = labels.state_label(definition, seen.state)
    return Panel(
        definition=definition,
        ident=ident,
        title=_title(definition, page),
        version=seen.version,
        badge=badges.state_badge(definition, seen.state, "is-large"),
        for_long=_("for %(length)s") % {"length": times.since(changed_at)} if changed_at else "",
        since=format_html(_("since {}"), times.tag(changed_at)) if changed_at else "",
        by_itself=triggers.by_itself(definition, seen, using),
        open=allowed,
        closed=[one for one in found if not one.open],
        elsewhere=elsewhere(definition, seen.state, state),
        picture=_drawn(drawing.svg(definition, ident=ident, **marked)),
        near=_drawn(drawing.svg(definition, ident=f"{ident}-near", near=True, **marked)),
        legend=_drawn(drawing.legend(parts=drawing.is_large(definition))),
        size=len(definition.states),
        is_large=drawing.is_large(definition),
        outline=_drawn(drawing.outline(definition, **marked)),
        runs_title=effect_runs.title(seen.runs),
        runs=[
            effect_runs.row(page.admin_site, run, attempts, may_see_runs)
            for run, attempts in effect_runs.with_attempts(seen.runs[:RUNS])
        ],
        more_runs=_more(page.admin_site, "run", definition, seen.record) if len(seen.runs) > RUNS else "",
        history=_history(page.admin_site, definition, seen.history, may_see_runs),
        more_history=_more(page.admin_site, "transitionlog", definition, seen.record)
        if len(seen.history) > HISTORY and permissions.may_see(request.user, TransitionLog)
        else "",
    )


def _title(definition: Definition, page: Any) -> str:
    name = str(definition.model._meta.verbose_name)
    if len(page.lifecycles()) > 1:
        name = f"{name} · {definition.name}"
    return _("Lifecycle: %(name)s") % {"name": name[:1].upper() + name[1:]}


def _more(site: Any, name: str, definition: Definition, record: Any) -> str:
    url = addresses.of(site, f"lifecycle_{name}_changelist")
    return url and f"{url}?lifecycle={definition.name}&q={records.text_id(record)}"


def _history(
    site: Any, definition: Definition, entries: list[TransitionLog], may_see_runs: bool
) -> list[dict[str, Any]]:
    rows = []
    for place, entry in enumerate(entries[:HISTORY]):
        before = entries[place + 1] if place + 1 < len(entries) else None
        stay = ""
        if before is not None:
            said = {"length": times.spoken(entry.at - before.at), "state": labels.state_label(definition, entry.source)}
            stay = _("%(length)s in %(state)s") % said
        rows.append(
            {
                "version": entry.version,
                "what": happened(entry),
                "who": who(entry, site, may_see_runs=may_see_runs),
                "entered": entered(entry),
                "at": times.tag(entry.at),
                "stay": stay,
            }
        )
    return rows


def _drawn(svg: str) -> SafeString:
    return mark_safe(svg)  # noqa: S308 the drawing escapes every text
