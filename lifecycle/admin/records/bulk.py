"""Bulk action: one transition for many rows of a list: a page that asks first, then a report row by row."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, cast

from django.contrib.admin import helpers
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from lifecycle import runtime
from lifecycle.admin.parts import badges, labels, reasons
from lifecycle.admin.parts.reports import MOST_ROWS, ReportRow, grouped
from lifecycle.admin.records import firing, inputs
from lifecycle.definition.compiled import CompiledTransition, Definition
from lifecycle.exceptions import InvalidInput, LifecycleError
from lifecycle.runtime.acting import actor_of
from lifecycle.store import records

CONFIRMED, KEY = "lifecycle_confirmed", "key"
MOST_SHOWN = 100


def might_fire(request: HttpRequest, page: Any, edge: CompiledTransition) -> bool:
    """Whether an action may be worth offering: what can be known without a row."""
    if not page.has_fire_permission(request, None, edge):
        return False
    return all(
        request.user.has_perm(one if "." in one else f"{page.opts.app_label}.{one}")
        for one in edge.permissions
        if isinstance(one, str)
    )


def ask(request: HttpRequest, page: Any, definition: Definition, edge: CompiledTransition, queryset: Any) -> Any:
    """The page before: which rows, what each would answer, and the input. Nothing happens yet."""
    keys = [str(pk) for pk in queryset.order_by("pk").values_list("pk", flat=True)[: MOST_ROWS + 1]]
    if len(keys) > MOST_ROWS:
        page.refused_without_rows(
            request, _("Nothing was done. Choose at most %(most)s rows at once.") % {"most": MOST_ROWS}
        )
        return None
    across = request.POST.get("select_across") == "1"
    posted = [] if across else list(dict.fromkeys(request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)))
    outside = [key for key in posted if key not in set(keys)]
    return _page(request, page, definition, edge, [*keys, *outside], inputs.form_for(definition, edge))


def confirmed(request: HttpRequest, page: Any) -> HttpResponse:
    """Fires on every row that was on the page before, and reports what became of each."""
    definition, edge = _named(page, request.POST.get(CONFIRMED, ""))
    if not page.has_fire_permission(request, None, edge):
        raise PermissionDenied
    keys = list(dict.fromkeys(request.POST.getlist("row")))[:MOST_ROWS]
    form = inputs.form_for(definition, edge, data=request.POST)
    found = _rows(request, page, keys)
    allowed = [record for record in found.values() if not page.refuse_to_fire(request, record, edge)]
    token = request.POST.get(KEY, "")[:64] or uuid.uuid4().hex
    try:
        report = runtime.fire_many(
            allowed,
            edge.name,
            actor=actor_of(request),
            input=form.given(),
            manual=True,
            reason=form.reason(),
            # A page sent twice does nothing twice.
            request_id=lambda pk: f"admin:{token}:{pk}",
            lifecycle=definition,
        )
    except InvalidInput as error:
        form.show(error.problems)
        return _page(request, page, definition, edge, keys, form, status=400)
    except LifecycleError as error:
        page.refused_without_rows(request, _("Nothing was done. %(why)s") % {"why": error})
        return _page(request, page, definition, edge, keys, form, status=409)
    if not report.fired and report.refused and all(isinstance(one.error, InvalidInput) for one in report.refused):
        # Every row says the same about the input: that is for the form, and may be put right there.
        form.show(report.refused[0].error.problems)  # type: ignore[union-attr]
        return _page(request, page, definition, edge, keys, form, status=400)
    _log(request, definition, edge, [one for one in report.fired if not one.replayed])
    return _report(request, page, definition, edge, keys, found, report)


def _report(
    request: HttpRequest,
    page: Any,
    definition: Definition,
    edge: CompiledTransition,
    keys: Sequence[str],
    found: dict[str, Any],
    report: Any,
) -> HttpResponse:
    fired = {records.text_id(one.record): one for one in report.fired}
    refused = {one.record_id: one for one in report.refused}
    rows = []
    for key in keys:
        record = found.get(key)
        if record is None:
            rows.append(ReportRow(name=key, done=False, why=reasons.listed([(outside_sentence(page), "")])))
            continue
        name, url = str(record), page.record_url(record)
        if key in fired:
            one = fired[key]
            state = labels.state_label(definition, one.entry.target if one.entry is not None else "")
            said = _("was done already; it is %(state)s") if one.replayed else _("is now %(state)s")
            rows.append(ReportRow(name=name, url=url, done=True, said=said % {"state": state}))
        elif key in refused:
            rows.append(ReportRow(name=name, url=url, done=False, why=reasons.of_error(refused[key].error)))
        else:
            why = page.refuse_to_fire(request, record, edge) or _("It is gone.")
            rows.append(ReportRow(name=name, url=url, done=False, why=reasons.listed([(why, "")])))
    return TemplateResponse(
        request,
        "admin/lifecycle/report.html",
        {
            **page.admin_site.each_context(request),
            "title": _("%(name)s: what became of each") % {"name": edge.label},
            "opts": page.opts,
            "media": page.media,
            "groups": grouped(rows),
            "done": sum(row.done for row in rows),
            "refused": sum(not row.done for row in rows),
            "back": request.get_full_path(),
        },
    )


def outside_sentence(page: Any) -> str:
    """Why a posted row was left alone."""
    return _("It is not among the %(models)s you see.") % {"models": page.opts.verbose_name_plural}


def _page(
    request: HttpRequest,
    page: Any,
    definition: Definition,
    edge: CompiledTransition,
    keys: Sequence[str],
    form: inputs.InputForm,
    status: int = 200,
) -> HttpResponse:
    found = _rows(request, page, keys[:MOST_SHOWN])
    rows = [_preview(request, page, definition, edge, key, found.get(key)) for key in keys[:MOST_SHOWN]]
    context = {
        **page.admin_site.each_context(request),
        "title": _("%(name)s: for %(n)s rows") % {"name": edge.label, "n": len(keys)},
        "opts": page.opts,
        "media": page.media + form.media,
        "rows": rows,
        "keys": keys,
        "more": len(keys) - len(rows),
        "form": form,
        "edge": edge,
        "way": labels.to_state(definition, edge.targets),
        "confirmed": f"{definition.name}:{edge.name}",
        "confirmed_name": CONFIRMED,
        "key": request.POST.get(KEY) or uuid.uuid4().hex,
        "danger": bool(edge.meta.get("destructive")),
        "back": request.get_full_path(),
        "able": sum(row.done for row in rows),
    }
    return TemplateResponse(request, "admin/lifecycle/bulk.html", context, status=status)


def _preview(
    request: HttpRequest, page: Any, definition: Definition, edge: CompiledTransition, key: str, record: Any
) -> ReportRow:
    if record is None:
        return ReportRow(name=key, done=False, why=reasons.listed([(outside_sentence(page), "")]))
    state = badges.state_badge(definition, records.state_of(definition, record))
    refused = page.refuse_to_fire(request, record, edge)
    if refused:
        return ReportRow(name=str(record), said=state, done=False, why=reasons.listed([(refused, "")]))
    verdict = runtime.can(record, edge.name, actor=actor_of(request), manual=True, lifecycle=definition)
    return ReportRow(
        name=str(record),
        url=page.record_url(record),
        said=state,
        done=verdict.allowed,
        why="" if verdict.allowed else reasons.of_refusals(verdict.refusals),
    )


def _rows(request: HttpRequest, page: Any, keys: Sequence[str]) -> dict[str, Any]:
    """The rows with these keys among those this user sees."""
    parsed = []
    for key in keys:
        try:
            parsed.append(page.opts.pk.to_python(key))
        except (ValidationError, ValueError, TypeError, OverflowError):
            continue
    try:
        return {records.text_id(record): record for record in page.get_queryset(request).filter(pk__in=parsed)}
    except OverflowError:  # a number larger than the column: no row has it, and the others are asked one by one
        found: dict[str, Any] = {}
        for pk in parsed:
            try:
                found |= {records.text_id(record): record for record in page.get_queryset(request).filter(pk=pk)}
            except OverflowError:
                continue
        return found


def _named(page: Any, text: str) -> tuple[Definition, CompiledTransition]:
    lifecycle, _colon, transition = text.partition(":")
    definition = next((one for one in page.lifecycles() if one.name == lifecycle), None)
    edge = definition.transitions.get(transition) if definition is not None else None
    if definition is None or edge is None or not edge.manual:
        raise Http404(_("There is no such transition here."))
    return definition, edge


def _log(request: HttpRequest, definition: Definition, edge: CompiledTransition, fired: Sequence[Any]) -> None:
    groups: dict[str, list[Any]] = {}
    for one in fired:
        groups.setdefault(firing.log_text(definition, edge, one.entry), []).append(one.record)
    for text, group in groups.items():
        LogEntry.objects.log_actions(cast(Any, request.user.pk), group, CHANGE, text)
