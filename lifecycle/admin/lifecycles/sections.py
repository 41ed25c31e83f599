"""Section: one lifecycle on one database, as the Lifecycles page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.db.models import Count, Max
from django.http import HttpRequest
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from lifecycle import drawing, registry
from lifecycle.admin.lifecycles.counts import counted, is_late, records_url, state_rows
from lifecycle.admin.lifecycles.first_part import shown_first
from lifecycle.admin.lifecycles.timeouts import timeout_rows
from lifecycle.admin.lifecycles.work import WorkRow, unfinished, work_rows
from lifecycle.admin.parts import addresses, labels, times
from lifecycle.admin.parts.parameter_values import kept
from lifecycle.definition import parameters as declared
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import LifecycleError
from lifecycle.models import OperatorAction, TriggerHold
from lifecycle.store import aliases, parameters


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
    size: int
    near: SafeString
    near_what: str
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
        work = unfinished(using)
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
    counts = counted(definition, using)
    current, complaints = parameters.read_with_complaints(definition, using)
    total = sum(one.number for one in counts.values())
    late = {name for name in counts if is_late(definition, name, counts[name], current)}
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
    large = drawing.is_large(definition)
    around, near_what = shown_first(definition, shown)
    verbose = str(definition.model._meta.verbose_name)
    rows = work_rows(definition, work.get(definition.name, ()), held.get(definition.name, 0), site)
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
        legend=_drawn(drawing.legend(record=False, counts=True, parts=large)),
        outline=_drawn(drawing.outline(definition)),
        size=len(definition.states),
        near=_drawn(drawing.svg(definition, counts=shown, around=around, ident=f"{ident}-near") if large else ""),
        near_what=near_what,
        work=rows,
        quiet=not any(row.number for row in rows),
        time=timeout_rows(definition, counts, current),
        parameters=_parameters(definition, current, complaints, site, database),
        last_change=_changed(changes.get(definition.name)),
        records_url=records_url(request, site, definition),
        database=database,
        states=state_rows(request, site, definition, counts, late),
    )


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
        "before": kept(row.lifecycle, before.get("parameter", ""), before.get("before", "")),
        "after": kept(row.lifecycle, before.get("parameter", ""), before.get("after", "")),
    }
    text = _("Last changed by %(who)s, %(when)s: %(name)s %(before)s → %(after)s") % said
    return f"{text}, “{row.reason}”." if row.reason else f"{text}."


def _drawn(svg: str) -> SafeString:
    return mark_safe(svg)  # noqa: S308 the drawing escapes every text
