"""TriggerHoldAdmin: timeouts and deadlines that were due and refused: why, since when, what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle import operations, registry
from lifecycle.admin.lists.action_forms import ReasonForm
from lifecycle.admin.lists.lifecycle_filter import LifecycleFilter
from lifecycle.admin.lists.named_records import NamedRecordList
from lifecycle.admin.lists.read_only import ReadOnlyAdmin
from lifecycle.admin.parts import addresses, labels, permissions, reasons, record_names, times
from lifecycle.admin.parts.reports import MOST_ROWS, ReportRow
from lifecycle.exceptions import InvalidInput, LifecycleError
from lifecycle.models import TriggerHold
from lifecycle.operations.preconditions import checked_reason
from lifecycle.runtime.acting import actor_of

FIRE, RELEASE = "fire", "release"
ACTIONS: dict[str, Callable[..., Any]] = {FIRE: operations.fire_held, RELEASE: operations.release_hold}


@admin.register(TriggerHold)
class TriggerHoldAdmin(ReadOnlyAdmin):
    list_display = ["trigger_name", "record", "why", "tried", "asked_again"]
    list_display_links = ["trigger_name"]
    list_filter = [LifecycleFilter]
    search_fields = ["record_id"]
    search_help_text = gettext_lazy("Record or trigger")
    ordering = ["-tries", "id"]
    action_form = ReasonForm
    actions = ["fire_now", "release"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NamedRecordList]:
        """The list that names the records."""
        return NamedRecordList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Exact: a record's id or a trigger's name."""
        term = search_term.strip().replace("\x00", "")
        return (queryset.filter(record_id=term) | queryset.filter(trigger=term) if term else queryset), False

    @admin.display(description=gettext_lazy("Timeout or deadline"), ordering="trigger")
    def trigger_name(self, hold: Any) -> Any:
        """The trigger, and what it would fire."""
        return format_html('<strong>{}</strong><span class="lc-second">{}</span>', hold.trigger, fires(hold))

    @admin.display(description=gettext_lazy("Record"))
    def record(self, hold: Any) -> Any:
        """Which record, and where it is now."""
        shown = hold.shown_record
        if shown is None:
            return hold.record_id
        return format_html('{}<span class="lc-second">{}</span>', shown.link, shown.state_label)

    @admin.display(description=gettext_lazy("Why it did not fire"))
    def why(self, hold: Any) -> Any:
        """The refusals of the last try."""
        return refusals(hold)

    @admin.display(description=gettext_lazy("Tries"), ordering="tries")
    def tried(self, hold: Any) -> Any:
        """How often it was refused in this stay."""
        return hold.tries

    @admin.display(description=gettext_lazy("Next try"), ordering="retry_at")
    def asked_again(self, hold: Any) -> Any:
        """When the tick asks it again."""
        return times.tag(hold.retry_at)

    # Operator actions ------------------------------------------------------------------------------------------

    @admin.action(description=gettext_lazy("Fire now"), permissions=["operate"])
    def fire_now(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Tries the chosen ones once."""
        return self._bulk(request, queryset, FIRE)

    @admin.action(description=gettext_lazy("Release: try again at the next tick"), permissions=["operate"])
    def release(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Ends the pauses of the chosen ones."""
        return self._bulk(request, queryset, RELEASE)

    def _bulk(self, request: HttpRequest, queryset: QuerySet[Any], name: str) -> HttpResponse | None:
        if not permissions.may_operate(request.user):
            raise PermissionDenied
        try:
            reason = checked_reason(request.POST.get("reason", ""), force=False)
        except InvalidInput as error:
            self.message_user(request, _("Nothing was done. %(why)s") % {"why": error}, messages.ERROR)
            return None
        missing = self.missing(request, queryset)
        holds = list(queryset.order_by("id")[:MOST_ROWS])
        named = record_names.named(holds, request, self.admin_site)
        rows = [self._one(request, hold, name, reason, named.get((hold.lifecycle, hold.record_id))) for hold in holds]
        gone = _("It is gone, or not among those you see: the trigger fired, or the record moved on.")
        rows += [ReportRow(name=key, done=False, why=reasons.listed([(gone, "")])) for key in missing]
        title = _("Fire now: what became of each") if name == FIRE else _("Release: what became of each")
        return self.report(request, title, rows, reason=reason)

    def _one(self, request: HttpRequest, hold: Any, name: str, reason: str, record: Any) -> ReportRow:
        title = format_html("{} · {}", hold.trigger, record.link if record else hold.record_id)
        try:
            self._operate(request, hold, name, reason)
        except LifecycleError as error:
            return ReportRow(name=title, done=False, why=reasons.of_error(error))
        return ReportRow(name=title, done=True, said=done(name))

    def _operate(self, request: HttpRequest, hold: Any, name: str, reason: str) -> None:
        self_repr = f"{hold.lifecycle}/{hold.record_id} {hold.trigger}"
        ACTIONS[name](hold, actor=actor_of(request), reason=reason)
        self.log_change(request, hold, f"{self_repr}: {done(name)} {reason}".strip())

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """One hold's page; by POST one operator action about it."""
        hold = self.get_object(request, object_id)
        if hold is None:
            return self.gone(request, object_id)
        addresses.stand_on(request, self.admin_site)
        if not self.has_view_permission(request, hold):
            raise PermissionDenied
        if request.method != "POST":
            return self._page(request, hold)
        name, reason = request.POST.get("operator_action", ""), request.POST.get("reason", "")
        if not permissions.may_operate(request.user) or name not in ACTIONS:
            raise PermissionDenied
        if request.POST.get("seen") != stamp(hold):
            said = _("It was tried again since this page was loaded. Nothing was done; this is how it is now.")
            return self._page(request, hold, refusal=(said, ""), reason=reason, status=409)
        try:
            self._operate(request, hold, name, reason)
        except LifecycleError as error:
            fresh = self.get_object(request, object_id)
            title = _("It did not fire.") if name == FIRE else _("Nothing was done.")
            if fresh is None:
                self.message_user(request, f"{title} {error}", messages.ERROR)
                return HttpResponseRedirect(reverse(f"{self.admin_site.name}:lifecycle_triggerhold_changelist"))
            return self._page(request, fresh, refusal=(title, reasons.of_error(error)), reason=reason, status=409)
        self.message_user(request, done(name), messages.SUCCESS)
        return HttpResponseRedirect(reverse(f"{self.admin_site.name}:lifecycle_triggerhold_changelist"))

    def _page(
        self, request: HttpRequest, hold: Any, *, refusal: Any = None, reason: str = "", status: int = 200
    ) -> HttpResponse:
        record = record_names.named_one(hold, request, self.admin_site)
        return TemplateResponse(
            request,
            "admin/lifecycle/hold.html",
            {
                **self.admin_site.each_context(request),
                "title": _("Held trigger"),
                "subtitle": f"{hold.trigger} · {record.label}",
                "opts": self.opts,
                "media": self.media,
                "hold": hold,
                "seen": stamp(hold),
                "record": record,
                "fires": fires(hold),
                "why": refusals(hold),
                "first": times.tag(hold.created_at),
                "last": times.tag(hold.updated_at),
                "again": times.tag(hold.retry_at),
                "refusal": refusal,
                "reason": reason,
                "may_operate": permissions.may_operate(request.user),
                "known": fires(hold) != "",
            },
            status=status,
        )


def stamp(hold: TriggerHold) -> str:
    """What a decision about a hold is made on."""
    return f"{hold.version}.{hold.tries}.{hold.retry_at.isoformat()}"


def done(name: str) -> str:
    """What an operator action has come to."""
    return _("It has fired.") if name == FIRE else _("It is tried again at the next tick.")


def fires(hold: TriggerHold) -> str:
    """The transition it would fire and where that leads; empty where nobody knows it."""
    definition = registry.find(hold.lifecycle)
    if definition is None:
        return ""
    trigger = definition.timeouts.get(hold.trigger) or definition.deadlines.get(hold.trigger)
    edge = definition.transitions.get(trigger.transition) if trigger is not None else None
    return f"{edge.label} {labels.to_state(definition, edge.targets)}" if edge is not None else ""


def refusals(hold: TriggerHold) -> Any:
    """The reasons of its last try."""
    told = [one for one in hold.refusals if isinstance(one, dict)] if isinstance(hold.refusals, list) else []
    return reasons.listed((str(one.get("message", "")), str(one.get("code", ""))) for one in told)
