"""Overview: the Lifecycles page — whether it runs, where records pile up, what is stuck, which values are in force."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.db.models import Count, Max, Min, Q
from django.http import HttpRequest
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from lifecycle import clock, drawing, registry
from lifecycle.admin.parts import addresses, badges, labels, times
from lifecycle.definition import parameters as declared
from lifecycle.definition.compiled import CompiledTimeout, Definition
from lifecycle.exceptions import LifecycleError
from lifecycle.models import EffectRun, FollowUp, OperatorAction, RunStatus, TriggerHold
from lifecycle.store import aliases, parameters

# A state people cannot leave, and time neither, is passed through in seconds; after so long something is stuck.
LATE_AFTER = dt.timedelta(hours=1)
# A timeout the tick has not come to yet is not late.
GRACE = dt.timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Counted:
    """One state's records: how many, since when the oldest."""

    number: int
    oldest: dt.datetime | None


@dataclass(frozen=True, kw_only=True)
class WorkRow:
    """One line of the work table, with the list it leads to."""

    name: str
    number: int
    badge: SafeString
    url: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """One lifecycle on one database."""

    definition: Definition
    ident: str
    title: str
    facts: str
    picture: SafeString
    legend: SafeString
    outline: SafeString
    work: list[WorkRow]
    quiet: bool
    time: list[tuple[str, str]]
    parameters: list[dict[str, Any]]
    last_change: str
    records_url: str
    database: str = ""
    states: list[dict[str, Any]] = field(default_factory=list)


def sections(request: HttpRequest, site: Any) -> list[Section]:
    """Every lifecycle, on every database that holds its records; so many queries per lifecycle, whatever it holds."""
    found = []
    databases = aliases.with_our_tables()
    for using in databases:
        work = _work(using)
        holds = TriggerHold.objects.using(using).order_by()
        held = dict(holds.values("lifecycle").annotate(n=Count("id")).values_list("lifecycle", "n"))
        changes = _last_changes(using)
        for definition in registry.all():
            if aliases.may_store(definition.model, using):
                name = using if len(databases) > 1 else ""
                found.append(_readable(request, site, definition, using, name, work, held, changes))
    # Stable: where nothing is wrong, the order of registration stays.
    return sorted(found, key=lambda one: isinstance(one, Section) and one.quiet)


def _readable(request: HttpRequest, site: Any, definition: Definition, using: str, name: str, *read: Any) -> Any:
    """One section; a table that is not there yet, or values nobody can read, must not take the page with them."""
    # Inside somebody's transaction (a request's) a savepoint keeps it usable; outside, none is opened.
    nested = connections[using].in_atomic_block
    try:
        with transaction.atomic(using=using) if nested else nullcontext():
            return _section(request, site, definition, using, name, *read)
    except (DatabaseError, LifecycleError) as error:
        return {
            "ident": f"lc-{definition.name}-{using}",
            "title": definition.name,
            "facts": name,
            "problem": f"{type(error).__name__}: {error}",
        }


def _section(
    request: HttpRequest,
    site: Any,
    definition: Definition,
    using: str,
    database: str,
    work: Mapping[str, Sequence[Any]],
    held: Mapping[str, int],
    changes: Mapping[str, OperatorAction],
) -> Section:
    counts = _counted(definition, using)
    current, complaints = parameters.read_with_complaints(definition, using)
    total = sum(one.number for one in counts.values())
    late = {name for name in counts if _is_late(definition, name, counts[name], current)}
    shown = {
        name: drawing.Count(
            number=one.number,
            oldest="" if definition.states[name].final else times.since(one.oldest),
            late=name in late,
        )
        for name, one in counts.items()
        if name in definition.states
    }
    ident = f"lc-{definition.name}" + (f"-{database}" if database else "")
    verbose = str(definition.model._meta.verbose_name)
    rows = _work_rows(definition, work.get(definition.name, ()), held.get(definition.name, 0), site)
    sized = [
        definition.name,
        ngettext("%(n)s record", "%(n)s records", total) % {"n": total},
        _("%(states)s states, %(transitions)s transitions")
        % {"states": len(definition.states), "transitions": len(definition.transitions)},
    ]
    return Section(
        definition=definition,
        ident=ident,
        title=verbose[:1].upper() + verbose[1:],
        facts=" · ".join([*sized, database] if database else sized),
        picture=_drawn(drawing.svg(definition, counts=shown, ident=ident)),
        legend=_drawn(drawing.legend(record=False, counts=True)),
        outline=_drawn(drawing.outline(definition)),
        work=rows,
        quiet=not any(row.number for row in rows),
        time=_time(definition, counts, current),
        parameters=_parameters(definition, current, complaints, site, database),
        last_change=_changed(changes.get(definition.name)),
        records_url=_records_url(request, site, definition),
        database=database,
        states=_states(request, site, definition, counts, late),
    )


# Records ------------------------------------------------------------------------------------------


def _counted(definition: Definition, using: str) -> dict[str, Counted]:
    """Records per state and the longest stay: one query, answered by the index the library asks for."""
    rows = (
        definition.model._base_manager.using(using)
        .order_by()
        .values_list(definition.state_field)
        .annotate(number=Count("pk"), oldest=Min(definition.changed_at_field))
    )
    return {str(state): Counted(number=number, oldest=oldest) for state, number, oldest in rows}


def _is_late(definition: Definition, state: str, counted: Counted, current: Any) -> bool:
    known = definition.states.get(state)
    if known is None or known.final or counted.oldest is None:
        return False
    stayed = clock.now() - counted.oldest
    limits = [one.after(current) + GRACE for one in definition.timeouts.values() if state in one.when]
    if limits:
        return stayed > min(limits)
    leaving = definition.leaving(state)
    by_date = any(state in one.when for one in definition.deadlines.values())
    return bool(leaving) and not any(edge.manual for edge in leaving) and not by_date and stayed > LATE_AFTER


def _states(
    request: HttpRequest, site: Any, definition: Definition, counts: Mapping[str, Counted], late: set[str]
) -> list[dict[str, Any]]:
    """The picture's numbers as a table, with the list of each state's records; also states nobody declares."""
    base = _records_url(request, site, definition)
    rows = []
    for name in [*definition.states, *(one for one in counts if one not in definition.states)]:
        counted = counts.get(name)
        if counted is None:
            continue
        rows.append(
            {
                "badge": badges.state_badge(definition, name),
                "number": counted.number,
                "oldest": times.since(counted.oldest),
                "late": name in late,
                "url": f"{base}?{definition.state_field}={name}" if base and name in definition.states else "",
            }
        )
    return rows


def _records_url(request: HttpRequest, site: Any, definition: Definition) -> str:
    model = definition.model
    if not site.is_registered(model) or not site.get_model_admin(model).has_view_permission(request):
        return ""
    return addresses.of(site, f"{model._meta.app_label}_{model._meta.model_name}_changelist")


# Work -----------------------------------------------------------------------------------------------


def _work(using: str) -> dict[str, list[dict[str, Any]]]:
    """What is not simply done, by lifecycle and effect: one query for all of them."""
    unfinished = Q(status__in=[RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.FAILED, RunStatus.DEAD])
    rows = (
        EffectRun.objects.using(using)
        .filter(unfinished | Q(follow_up__in=[FollowUp.PENDING, FollowUp.ABANDONED]))
        .order_by()
        .values("lifecycle", "effect", "status", "follow_up")
        .annotate(
            number=Count("id"),
            due=Count("id", filter=Q(status=RunStatus.QUEUED, available_at__lte=clock.now())),
            first_due=Min("available_at"),
            first_started=Min("started_at"),
            first_finished=Min("finished_at"),
            next_try=Min("follow_up_due_at"),
        )
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["lifecycle"], []).append(dict(row))
    return found


def _work_rows(definition: Definition, rows: Sequence[Any], held: int, site: Any) -> list[WorkRow]:
    """From worst to best."""
    runs = addresses.of(site, "lifecycle_effectrun_changelist") + f"?lifecycle={definition.name}"
    holds = addresses.of(site, "lifecycle_triggerhold_changelist") + f"?lifecycle={definition.name}"

    def of(**wanted: str) -> list[Any]:
        return [row for row in rows if all(row[key] == value for key, value in wanted.items())]

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
    longest = _("longest %(length)s") % {"length": times.since(first(running, "first_started"))} if running else ""
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
    made += [
        row(_("Due"), queued, "neutral", "ring", "status=queued", oldest, "due"),
        row(_("Running"), running, "progress", "half", "status=running", longest),
    ]
    return made


def _since(names: str, moment: dt.datetime | None) -> str:
    return _("%(names)s, %(length)s ago") % {"names": names, "length": times.since(moment)} if moment else names


# Time -----------------------------------------------------------------------------------------------


def _time(definition: Definition, counts: Mapping[str, Counted], current: Any) -> list[tuple[str, str]]:
    return [
        (str(definition.transitions[timeout.transition].label), _next(timeout, counts, current))
        for timeout in definition.timeouts.values()
    ]


def _next(timeout: CompiledTimeout, counts: Mapping[str, Counted], current: Any) -> str:
    waiting = [counts[state] for state in timeout.when if state in counts]
    number, length = sum(one.number for one in waiting), timeout.after(current)
    began = [one.oldest for one in waiting if one.oldest is not None]
    if not began:
        return _("nothing waits; %(length)s after it begins to") % {"length": times.spoken(length)}
    at = min(began) + length
    if at <= clock.now():
        return _("overdue for %(length)s, %(n)s waiting") % {"length": times.since(at), "n": number}
    if number == 1:
        return _("next in %(left)s") % {"left": times.until(at)}
    said = {"left": times.until(at), "n": number - 1, "length": times.spoken(length)}
    return _("next in %(left)s, then %(n)s more within %(length)s") % said


# Parameters -----------------------------------------------------------------------------------------


def _parameters(
    definition: Definition, current: Any, complaints: Mapping[str, str], site: Any, database: str
) -> list[dict[str, Any]]:
    if current is None:
        return []
    defaults = declared.defaults(definition)
    rows = []
    for name in definition.parameters.__dataclass_fields__:  # type: ignore[union-attr]
        url = addresses.of(site, "lifecycle_parameter", definition.name, name)
        in_force, in_declaration = getattr(current, name), getattr(defaults, name)
        rows.append(
            {
                "name": name,
                "in_force": times.shown(in_force),
                "declared": times.shown(in_declaration),
                "differs": in_force != in_declaration,
                "complaint": complaints.get(name, ""),
                "url": f"{url}?database={database}" if database else url,
            }
        )
    return rows


def _last_changes(using: str) -> dict[str, OperatorAction]:
    """The last change of any parameter, per lifecycle; the table of operator actions is short."""
    rows = OperatorAction.objects.using(using).filter(action__in=["set_parameter", "reset_parameter"]).order_by("id")
    newest = rows.order_by("lifecycle").values("lifecycle").annotate(last=Max("id")).values_list("last", flat=True)
    return {row.lifecycle: row for row in OperatorAction.objects.using(using).filter(pk__in=list(newest))}


def _changed(row: OperatorAction | None) -> str:
    if row is None:
        return ""
    before = row.before if isinstance(row.before, dict) else {}
    said = {
        "who": row.actor_label or row.actor_id,
        "when": times.written(row.at),
        "what": labels.action_label(row.action),
        "name": before.get("parameter", ""),
        "before": times.shown(before.get("before", "")),
        "after": times.shown(before.get("after", "")),
    }
    text = _("Last changed by %(who)s, %(when)s: %(name)s %(before)s → %(after)s") % said
    return f"{text}, “{row.reason}”." if row.reason else f"{text}."


def _drawn(svg: str) -> SafeString:
    return mark_safe(svg)  # noqa: S308 the drawing escapes every text
