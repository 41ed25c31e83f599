"""RunAdmin: what is pending, what needs a person, and what a person may do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle import operations
from lifecycle.admin.lists.action_forms import ForceForm
from lifecycle.admin.lists.lifecycle_filter import LifecycleFilter
from lifecycle.admin.lists.read_only import ReadOnlyAdmin
from lifecycle.admin.parts import addresses, badges, permissions, reasons, record_names, times
from lifecycle.admin.parts.attempts import attempts_in_words, pips
from lifecycle.admin.parts.reports import MOST_ROWS, ReportRow
from lifecycle.admin.runs import attention, filters, offers, page, sentences
from lifecycle.admin.runs.run_list import RunList
from lifecycle.exceptions import InvalidInput, LifecycleError
from lifecycle.models import Run
from lifecycle.operations.preconditions import checked_reason
from lifecycle.runtime.acting import actor_of

Operation = Callable[..., Any]
ACTIONS: dict[str, Operation] = {
    offers.RETRY: operations.retry_run,
    offers.CONTINUE: operations.continue_run,
    offers.CANCEL: operations.cancel_run,
}
FORCEABLE = (offers.RETRY, offers.CANCEL)


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ["run", "record", "state", "tries", "age", "what"]
    list_display_links = ["run"]
    list_filter = [
        filters.StatusFilter,
        filters.FollowUpFilter,
        filters.AgeFilter,
        LifecycleFilter,
        filters.EffectFilter,
    ]
    show_facets = admin.ShowFacets.ALWAYS
    show_full_result_count = False
    search_fields = ["record_id"]
    search_help_text = gettext_lazy("Record, run number or error code")
    action_form = ForceForm
    actions = ["retry_runs", "continue_runs", "cancel_runs"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list that reads what its columns say."""
        return RunList

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        """What needs a person first, then the newest."""
        return [attention.URGENCY.asc(), "-id"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Exact: a record's id, a run's number (also ``#12``) or an error's code; each has an index or is short."""
        term = search_term.strip().replace("\x00", "")
        if not term:
            return queryset, False
        wanted = Q(record_id=term) | Q(error_code__iexact=term)
        number = term.removeprefix("#")
        if number.isdecimal() and len(number) < 19:
            wanted |= Q(pk=int(number))
        return queryset.filter(wanted), False

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The list under the sentence that says what needs a person."""
        context = {"strip": attention.sentence(), **(extra_context or {})}
        return super().changelist_view(request, context)

    # Columns ----------------------------------------------------------------------------------------

    @admin.display(description=gettext_lazy("Run"))
    def run(self, run: Any) -> Any:
        """Its number and effect."""
        return format_html('<strong>{}</strong><span class="lc-second">{}</span>', run.pk, run.effect)

    @admin.display(description=gettext_lazy("Record"))
    def record(self, run: Any) -> Any:
        """The record, and where it is now."""
        shown = run.shown_record
        return format_html(
            '{}<span class="lc-second">{}</span>',
            shown.link if shown else run.record_id,
            shown.state_label if shown else "",
        )

    @admin.display(description=gettext_lazy("Status"), ordering="status")
    def state(self, run: Any) -> Any:
        """Status and follow-up; of the latter only where there is one."""
        follow_up = badges.follow_up_badge(run)
        return format_html(
            "{}{}",
            badges.run_badge(run),
            format_html('<span class="lc-follow">{}</span>', follow_up) if follow_up else "",
        )

    @admin.display(description=gettext_lazy("Attempts"), ordering="attempts")
    def tries(self, run: Any) -> Any:
        """Shapes over words."""
        return format_html(
            '<span class="lc-nowrap">{}<span class="lc-second">{}</span></span>',
            pips(run, run.shown_attempts),
            attempts_in_words(run),
        )

    @admin.display(description=gettext_lazy("Age"), ordering="created_at")
    def age(self, run: Any) -> Any:
        """How long ago it was enqueued."""
        return format_html('<span class="lc-nowrap">{}</span>', times.since(run.created_at))

    @admin.display(description=gettext_lazy("What happened, what comes next"))
    def what(self, run: Any) -> Any:
        """One or two sentences."""
        said = sentences.line(run, run.shown_cancel)
        return format_html('<span class="lc-what">{}</span><span class="lc-second">{}</span>', said.happened, said.next)

    # Bulk -------------------------------------------------------------------------------------------

    @admin.action(description=gettext_lazy("Retry"), permissions=["operate"])
    def retry_runs(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Runs the chosen ones again."""
        return self._bulk(request, queryset, offers.RETRY)

    @admin.action(description=gettext_lazy("Continue follow-up"), permissions=["operate"])
    def continue_runs(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Tries the follow-ups of the chosen ones."""
        return self._bulk(request, queryset, offers.CONTINUE)

    @admin.action(description=gettext_lazy("Cancel"), permissions=["operate"])
    def cancel_runs(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Ends the chosen ones."""
        return self._bulk(request, queryset, offers.CANCEL)

    def _bulk(self, request: HttpRequest, queryset: QuerySet[Any], name: str) -> HttpResponse | None:
        if not permissions.may_operate(request.user):
            raise PermissionDenied
        force = name in FORCEABLE and bool(request.POST.get("force"))
        try:
            reason = checked_reason(request.POST.get("reason", ""), force=force)
        except InvalidInput as error:
            self.message_user(request, _("Nothing was done. %(why)s") % {"why": error}, messages.ERROR)
            return None
        # Before anything is done: the list may be filtered by what the operator action changes.
        missing = self.missing(request, queryset)
        runs = list(queryset.order_by("id")[: MOST_ROWS + 1])
        if len(runs) > MOST_ROWS:
            self.message_user(
                request,
                _("Nothing was done. Choose at most %(most)s rows at once.") % {"most": MOST_ROWS},
                messages.ERROR,
            )
            return None
        named = record_names.named(runs, request, self.admin_site)
        rows = [self._one(request, run, name, reason, force, named.get((run.lifecycle, run.record_id))) for run in runs]
        rows += [
            ReportRow(
                name=_("Run %(n)s") % {"n": key},
                done=False,
                why=reasons.listed([(_("It is not among the runs you see."), "")]),
            )
            for key in missing
        ]
        titles = {
            offers.RETRY: _("Retry: what became of each run"),
            offers.CONTINUE: _("Continue: what became of each run"),
            offers.CANCEL: _("Cancel: what became of each run"),
        }
        return self.report(request, titles[name], rows, reason=reason)

    def _one(
        self, request: HttpRequest, run: Any, name: str, reason: str, force: bool, record: Any
    ) -> ReportRow:  # fmt: skip
        title = format_html("{} · {} · {}", run.pk, run.effect, record.label if record else run.record_id)
        url = reverse(f"{self.admin_site.name}:lifecycle_run_change", args=[run.pk])
        try:
            fresh = self.operate(request, run, name, reason=reason, force=force)
        except LifecycleError as error:
            return ReportRow(name=title, url=url, done=False, why=reasons.of_error(error))
        return ReportRow(name=title, url=url, done=True, said=offers.done(name, fresh))

    def operate(self, request: HttpRequest, run: Any, name: str, *, reason: str, force: bool) -> Run:
        """One operator action about one run; the operations write its audit row, this the admin's own log.

        Raises:
            LifecycleError: it is refused; nothing changed.
        """
        forced = {"force": force} if name in FORCEABLE else {}
        fresh: Run = ACTIONS[name](run, actor=actor_of(request), reason=reason, **forced)
        said = offers.done(name, fresh)
        self.log_change(request, fresh, f"{said} {reason}".strip() + (f" ({_('forced')})" if force and forced else ""))
        return fresh

    # One run ----------------------------------------------------------------------------------------

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """One run's page; by POST one operator action about it."""
        run = self.get_object(request, object_id)
        if run is None:
            return self.gone(request, object_id)
        addresses.stand_on(request, self.admin_site)
        if not self.has_view_permission(request, run):
            raise PermissionDenied
        if request.method == "POST":
            return self._operated(request, run)
        return self._page(request, run)

    def _operated(self, request: HttpRequest, run: Any) -> HttpResponse:
        name = request.POST.get("operator_action", "")
        if not permissions.may_operate(request.user) or name not in ACTIONS:
            raise PermissionDenied
        reason, force = request.POST.get("reason", ""), bool(request.POST.get("force"))
        typed = {"reason": reason, "force": force}
        if request.POST.get("seen") != page.stamp(run):
            changed = _("This run has changed since this page was loaded. Nothing was done; this is how it is now.")
            return self._page(request, run, refusal=(changed, ""), typed=typed, status=409)
        try:
            fresh = self.operate(request, run, name, reason=reason, force=force)
        except LifecycleError as error:
            fresh = self.get_object(request, str(run.pk)) or run
            title = _("Nothing was done.") if name != offers.CONTINUE else _("The follow-up was refused.")
            status = 400 if isinstance(error, InvalidInput) else 409
            return self._page(request, fresh, refusal=(title, reasons.of_error(error)), typed=typed, status=status)
        self.message_user(request, offers.done(name, fresh), messages.SUCCESS)
        return HttpResponseRedirect(request.path)

    def _page(
        self, request: HttpRequest, run: Any, *, refusal: Any = None, typed: Any = None, status: int = 200
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            **page.context(request, self.admin_site, run),
            "opts": self.opts,
            "media": self.media,
            "refusal": refusal,
            "typed": typed or {},
            "may_operate": permissions.may_operate(request.user),
        }
        return TemplateResponse(request, "admin/lifecycle/run.html", context, status=status)
