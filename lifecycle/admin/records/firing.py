"""Firing page: asks for a transition's input or for a confirmation, fires it, and gives back what was typed."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from lifecycle import runtime
from lifecycle.admin.parts import badges, labels, reasons, times
from lifecycle.admin.parts.entries import who
from lifecycle.admin.records import inputs
from lifecycle.definition.compiled import CompiledTransition, Definition
from lifecycle.exceptions import Conflict, InvalidInput, LifecycleError, PermissionRefused, RequestReused
from lifecycle.models import TransitionLog
from lifecycle.runtime.acting import actor_of
from lifecycle.store import records

VERSION, KEY = "version", "key"


def respond(
    request: HttpRequest, page: Any, definition: Definition, edge: CompiledTransition, record: Any
) -> HttpResponse:
    """The page by GET; by POST the transition, once per page however often it is sent."""
    if request.method != "POST":
        return _page(request, page, definition, edge, record, inputs.form_for(definition, edge, record))
    form = inputs.form_for(definition, edge, record, request.POST)
    refused = page.refuse_to_fire(request, record, edge)
    if refused:
        title = _("Nothing was done.")
        return _page(request, page, definition, edge, record, form, (title, reasons.listed([(refused, "")])), 403)
    version = request.POST.get(VERSION, "")
    if not version.isdecimal() or len(version) > 18:
        said = _("This form arrived incomplete. Nothing was done; load the page again.")
        return _page(request, page, definition, edge, record, form, (said, ""), 400)
    key = request.POST.get(KEY, "")
    try:
        fired = runtime.fire(
            record,
            edge.name,
            actor=actor_of(request),
            input=form.given(),
            request_id=f"admin:{key[:64]}" if key else None,
            expect_version=int(version),
            manual=True,
            reason=form.reason(),
            lifecycle=definition,
        )
    except LifecycleError as error:
        return _refused(request, page, definition, edge, record, form, error)
    return _fired(request, page, definition, edge, fired)


def _fired(
    request: HttpRequest, page: Any, definition: Definition, edge: CompiledTransition, fired: Any
) -> HttpResponse:
    record, entry = fired.record, fired.entry
    way = labels.state_label(definition, entry.target) if entry is not None else ""
    if fired.replayed:
        said = _("%(name)s was done already; it is not done twice.") % {"name": edge.label}
        page.message_user(request, said, messages.INFO)
    else:
        page.log_change(request, record, log_text(definition, edge, entry))
        facts = {"record": str(record), "name": edge.label, "state": way}
        page.message_user(request, _("%(record)s: %(name)s. It is now %(state)s.") % facts, messages.SUCCESS)
    visible = page.get_queryset(request).filter(pk=record.pk).exists()
    name = f"{page.admin_site.name}:{page.opts.app_label}_{page.opts.model_name}_changelist"
    if visible:
        return HttpResponseRedirect(page.record_url(record))
    return HttpResponseRedirect(reverse(name))


def log_text(definition: Definition, edge: CompiledTransition, entry: TransitionLog) -> str:
    """The line in Django's own log."""
    return _("Fired “%(name)s”: %(source)s → %(target)s, version %(version)s.") % {
        "name": edge.label,
        "source": labels.state_label(definition, entry.source),
        "target": labels.state_label(definition, entry.target),
        "version": entry.version,
    }


def _refused(
    request: HttpRequest,
    page: Any,
    definition: Definition,
    edge: CompiledTransition,
    record: Any,
    form: inputs.InputForm,
    error: LifecycleError,
) -> HttpResponse:
    # The form is drawn for the record as it is now; what was typed stays in it.
    fresh = page.get_queryset(request).filter(pk=record.pk).first() or record
    if isinstance(error, InvalidInput):
        form.show(error.problems)
        if not error.problems:
            return _page(
                request, page, definition, edge, fresh, form, (_("Nothing was done."), reasons.of_error(error)), 400
            )
        return _page(request, page, definition, edge, fresh, form, None, 400)
    if isinstance(error, Conflict):
        return _page(
            request, page, definition, edge, fresh, form, _conflict(request, page, definition, fresh, error), 409
        )
    status = 403 if isinstance(error, PermissionRefused) else 409
    if isinstance(error, RequestReused):
        said = _("This form was sent before with other input, and that one counts. Nothing more was done.")
        return _page(request, page, definition, edge, fresh, form, (said, ""), 409)
    title = _("“%(name)s” was refused. Nothing was done.") % {"name": edge.label}
    return _page(request, page, definition, edge, fresh, form, (title, reasons.of_error(error)), status)


def _conflict(request: HttpRequest, page: Any, definition: Definition, record: Any, error: Conflict) -> tuple[Any, Any]:
    """Who was faster, what they did, the version seen and the version now."""
    using = record._state.db or "default"
    entries = TransitionLog.objects.using(using).of_life(definition.name, records.text_id(record))
    latest = entries.order_by("-version").first()
    title = _("This %(model)s was handled by someone else.") % {"model": definition.model._meta.verbose_name}
    facts = {"seen": request.POST.get(VERSION), "now": records.version_of(definition, record)}
    said = _("You saw version %(seen)s, it is now at version %(now)s.") % facts
    if latest is None:
        return title, format_html("<p>{}</p>", said)
    return title, format_html(
        "<p>{} <strong>{}</strong> · {} · {}</p><p>{} {}</p>",
        _("Since then:"),
        labels.transition_label(definition, latest.transition),
        who(latest, page.admin_site, may_see_runs=False),
        times.tag(latest.at),
        said,
        _("Nothing of yours was done. What you typed is still here."),
    )


def _page(
    request: HttpRequest,
    page: Any,
    definition: Definition,
    edge: CompiledTransition,
    record: Any,
    form: inputs.InputForm,
    refusal: tuple[Any, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    verdict = runtime.can(record, edge.name, actor=actor_of(request), manual=True, lifecycle=definition)
    refused = page.refuse_to_fire(request, record, edge)
    said = [(str(one), reasons.asked_by(one)) for one in verdict.refusals]
    if refused:
        said.insert(0, (refused, ""))
    state = records.state_of(definition, record)
    context = {
        **page.admin_site.each_context(request),
        "title": str(edge.label),
        "subtitle": str(record),
        "opts": page.opts,
        "media": page.media + form.media,
        "original": record,
        "record_url": page.record_url(record),
        "form": form,
        "edge": edge,
        "open": verdict.allowed and not refused,
        "why": reasons.listed(said) if said else "",
        "badge": badges.state_badge(definition, state),
        "way": labels.to_state(definition, edge.targets),
        "version": records.version_of(definition, record),
        # A page drawn again after a refusal keeps its key: nothing was done under it.
        "key": request.POST.get(KEY) or uuid.uuid4().hex,
        "danger": bool(edge.meta.get("destructive")),
        "refusal": refusal,
    }
    return TemplateResponse(request, "admin/lifecycle/fire.html", context, status=status)
