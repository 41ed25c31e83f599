"""Panel: one record's lifecycle as its page shows it: where it is, what may be done, how it got there, its effects."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from lifecycle import drawing
from lifecycle.admin.parts import addresses, badges, labels, permissions, reasons, times
from lifecycle.admin.parts.attempts import attempts_in_words, pips
from lifecycle.admin.parts.entries import entered, happened, who
from lifecycle.admin.records import inputs
from lifecycle.admin.runs import sentences
from lifecycle.definition.compiled import CompiledDeadline, CompiledTimeout, CompiledTransition, Definition
from lifecycle.models import EffectAttempt, EffectRun, RunStatus, TransitionLog, TriggerHold
from lifecycle.runtime import RecordView, view
from lifecycle.runtime.acting import actor_of
from lifecycle.runtime.results import Availability
from lifecycle.store import parameters, records

HISTORY, RUNS = 50, 20


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A transition out of the current state: open with its page's address, or closed with every reason."""

    name: str
    ident: str
    label: str
    way: str
    open: bool
    url: str = ""
    ellipsis: bool = False
    danger: bool = False
    why: Any = ""


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
    tools = [_tool(request, page, definition, seen.record, one) for one in seen.available]
    allowed = [tool for tool in tools if tool.open]
    path = [(e.version, e.transition, e.source or "", e.target) for e in reversed(seen.history)]
    marked: dict[str, Any] = {"current": seen.state, "path": path, "open_transitions": {tool.name for tool in allowed}}
    ident = f"lc-{definition.name}"
    may_see_runs = permissions.may_see(request.user, EffectRun)
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
        by_itself=_by_itself(definition, seen, using),
        open=allowed,
        closed=[tool for tool in tools if not tool.open],
        elsewhere=_elsewhere(definition, seen.state, state),
        picture=_drawn(drawing.svg(definition, ident=ident, **marked)),
        near=_drawn(drawing.svg(definition, ident=f"{ident}-near", near=True, **marked)),
        legend=_drawn(drawing.legend()),
        outline=_drawn(drawing.outline(definition, **marked)),
        runs_title=_runs_title(seen.runs),
        runs=[_run(page.admin_site, run, attempts, may_see_runs) for run, attempts in _with_attempts(seen.runs[:RUNS])],
        more_runs=_more(page.admin_site, "effectrun", definition, seen.record) if len(seen.runs) > RUNS else "",
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


# What may be done -------------------------------------------------------------------------------


def _tool(request: HttpRequest, page: Any, definition: Definition, record: Any, one: Availability) -> Tool:
    edge = definition.transitions[one.name]
    asked = inputs.asks_for(definition, edge)
    way = labels.to_state(definition, one.targets)
    if asked:
        way = _("%(way)s. Asks for %(fields)s") % {"way": way, "fields": _listed(asked)}
    if one.description:
        way = f"{way}. {one.description}" if not way.endswith(".") else f"{way} {one.description}"
    refused = page.refuse_to_fire(request, record, edge)
    said = [(str(refusal), reasons.asked_by(refusal)) for refusal in one.refusals]
    if refused:
        said.insert(0, (refused, ""))
    ident = f"lc-why-{definition.name}-{one.name}"
    return Tool(
        name=one.name,
        ident=ident,
        label=str(one.label),
        way=way,
        open=one.allowed and not refused,
        url=page.fire_url(definition, record, edge),
        ellipsis=bool(asked),
        danger=bool(one.meta.get("destructive")),
        why=reasons.listed(said, ident) if said else "",
    )


def _listed(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return _("%(some)s and %(last)s") % {"some": ", ".join(words[:-1]), "last": words[-1]}


def _elsewhere(definition: Definition, state: str, label: str) -> str:
    others = [
        str(edge.label) for edge in definition.transitions.values() if edge.manual and state not in edge.sources
    ]  # fmt: skip
    if not others:
        return ""
    said = {"names": _listed(list(dict.fromkeys(others))), "state": label}
    if len(others) == 1:
        return _("%(names)s does not start in %(state)s.") % said
    return _("%(names)s do not start in %(state)s.") % said


# What time does ---------------------------------------------------------------------------------


def _by_itself(definition: Definition, seen: RecordView, using: str) -> list[Any]:
    told: list[Any] = []
    declared: list[CompiledTimeout | CompiledDeadline] = []
    declared += [*definition.timeouts.values(), *definition.deadlines.values()]
    triggers = [one for one in declared if seen.state in one.when]
    if not triggers:
        state = labels.state_label(definition, seen.state)
        known = definition.states.get(seen.state)
        if known is not None and known.final:
            return [_("nothing: %(state)s is final") % {"state": state}]
        return [_("nothing: no time limit in %(state)s") % {"state": state}]
    holds = {
        hold.trigger: hold
        for hold in TriggerHold.objects.using(using).filter(
            lifecycle=definition.name, record_id=records.text_id(seen.record), version=seen.version
        )
    }
    current = parameters.read(definition, using)
    for trigger in triggers:
        edge = definition.transitions[trigger.transition]
        at = _due_at(definition, trigger, seen.record, current, using)
        hold = holds.get(trigger.name)
        if hold is not None:
            said = _("%(name)s was due and refused: %(why)s Asked again at %(time)s.") % {
                "name": edge.label,
                "why": " ".join(str(one.get("message", "")) for one in hold.refusals if isinstance(one, dict)),
                "time": times.written(hold.retry_at),
            }
            told.append(format_html('<span class="lc-err">{}</span>', said))
        elif at is not None:
            told.append(_at(definition, edge, at))
    return told or [_("nothing: its date is not set")]


def _at(definition: Definition, edge: CompiledTransition, at: dt.datetime) -> Any:
    left = times.until(at)
    said = {"name": edge.label, "way": labels.to_state(definition, edge.targets), "left": left}
    if left == times.spoken(dt.timedelta(0)):
        return format_html(_("{} by the next tick, unless it moves on before"), f"{edge.label} {said['way']}")
    return format_html(
        _("at {} {} (in {}), unless it moves on before"), times.tag(at), f"{edge.label} {said['way']}", left
    )


def _due_at(
    definition: Definition, trigger: CompiledTimeout | CompiledDeadline, record: Any, current: Any, using: str
) -> dt.datetime | None:
    if isinstance(trigger, CompiledTimeout):
        began = getattr(record, definition.changed_at_field)
        return began + trigger.after(current) if began is not None else None
    at: Any
    if isinstance(trigger.at, str) and "__" not in trigger.at:
        at = getattr(record, trigger.at)
    else:
        expression = F(trigger.at) if isinstance(trigger.at, str) else trigger.at
        rows = definition.model._base_manager.using(using).filter(pk=record.pk)
        at = rows.annotate(_lifecycle_due_at=expression).values_list("_lifecycle_due_at", flat=True).first()
    if isinstance(at, dt.date) and not isinstance(at, dt.datetime):
        from django.utils import timezone

        return timezone.make_aware(dt.datetime.combine(at, dt.time()))
    return at if isinstance(at, dt.datetime) else None


# Pending effects -----------------------------------------------------------------------------------


def _with_attempts(runs: list[EffectRun]) -> list[tuple[EffectRun, list[EffectAttempt]]]:
    attempts: dict[int, list[EffectAttempt]] = {}
    if runs:
        rows = EffectAttempt.objects.using(runs[0]._state.db).filter(run_id__in=[run.pk for run in runs])
        for row in rows.defer("traceback").order_by("id"):
            attempts.setdefault(row.run_id, []).append(row)
    return [(run, attempts.get(run.pk, [])) for run in runs]


def _runs_title(runs: list[EffectRun]) -> str:
    if not runs:
        return _("nothing")
    done = sum(run.status not in (RunStatus.QUEUED, RunStatus.RUNNING) for run in runs)
    pending = len(runs) - done
    told = []
    if pending:
        told.append(ngettext("%(n)s run to do", "%(n)s runs to do", pending) % {"n": pending})
    if done:
        told.append(ngettext("%(n)s run done", "%(n)s runs done", done) % {"n": done})
    return ", ".join(told)


def _run(site: Any, run: EffectRun, attempts: list[EffectAttempt], may_see: bool) -> dict[str, Any]:
    said = sentences.line(run)
    troubled = run.status != RunStatus.SUCCEEDED or run.follow_up in ("pending", "abandoned", "dropped")
    return {
        "number": run.pk,
        "url": addresses.of(site, "lifecycle_effectrun_change", run.pk) if may_see else "",
        "effect": run.effect,
        "badge": badges.run_badge(run),
        "pips": pips(run, attempts),
        "attempts": attempts_in_words(run),
        "enqueued_by": _("version %(n)s") % {"n": run.entry.version},
        "follow_up": badges.follow_up_badge(run),
        # Errors and results may hold what only those who see runs should read.
        "said": said if may_see and troubled else None,
    }


def _more(site: Any, name: str, definition: Definition, record: Any) -> str:
    url = addresses.of(site, f"lifecycle_{name}_changelist")
    return url and f"{url}?lifecycle={definition.name}&q={records.text_id(record)}"


# How it got here --------------------------------------------------------------------------------


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
