"""OperatorActionAdmin: who did what to a run, a held trigger, a parameter, and why."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle.admin.lists.lifecycle_filter import LifecycleFilter
from lifecycle.admin.lists.named_records import NamedRecordList
from lifecycle.admin.lists.read_only import ReadOnlyAdmin
from lifecycle.admin.parts import addresses, labels, times
from lifecycle.admin.parts.parameter_values import kept
from lifecycle.models import OperatorAction


class ActionFilter(admin.SimpleListFilter):
    title = gettext_lazy("action")
    parameter_name = "action_name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """The operator actions the library knows."""
        return list(labels.OF_OPERATOR_ACTION.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """The rows of one operator action."""
        return queryset.filter(action=self.value()) if self.value() in labels.OF_OPERATOR_ACTION else queryset


@admin.register(OperatorAction)
class OperatorActionAdmin(ReadOnlyAdmin):
    list_display = ["when", "what", "about", "who", "why"]
    list_filter = [ActionFilter, LifecycleFilter]
    search_fields = ["record_id"]
    search_help_text = gettext_lazy("Record, run number or operator")
    ordering = ["-id"]
    fields = ["when", "what", "of_lifecycle", "about", "who", "why", "how_it_was"]
    readonly_fields = ["when", "what", "of_lifecycle", "about", "who", "why", "how_it_was"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list that names the records."""
        return NamedRecordList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Exact: a record's id, a run's number, an operator's name."""
        term = search_term.strip().replace("\x00", "")
        if not term:
            return queryset, False
        wanted = Q(record_id=term) | Q(actor_label__iexact=term)
        if term.isdecimal() and len(term) < 19:
            wanted |= Q(run_id=int(term))
        return queryset.filter(wanted), False

    @admin.display(description=gettext_lazy("When"), ordering="id")
    def when(self, row: Any) -> Any:
        """Time."""
        return times.tag(row.at)

    @admin.display(description=gettext_lazy("What"))
    def what(self, row: Any) -> Any:
        """The operator action."""
        forced = format_html(' <span class="lc-err">{}</span>', _("forced")) if row.forced else ""
        return format_html("<strong>{}</strong>{}", labels.action_label(row.action), forced)

    @admin.display(description=gettext_lazy("Lifecycle"))
    def of_lifecycle(self, row: Any) -> Any:
        """The lifecycle's name."""
        return row.lifecycle

    @admin.display(description=gettext_lazy("About"))
    def about(self, row: Any) -> Any:
        """The run, record or parameter."""
        record = getattr(row, "shown_record", None)
        if record is not None or row.record_id:
            record = record.link if record is not None else row.record_id
        if row.run_id:
            url = addresses.of(self.admin_site, "lifecycle_run_change", row.run_id)
            run = format_html('<a href="{}">{}</a>', url, _("Run %(n)s") % {"n": row.run_id})
            return format_html("{} · {}", run, record) if record else run
        before = row.before if isinstance(row.before, dict) else {}
        if "parameter" in before:
            said = {
                "name": before["parameter"],
                "before": kept(row.lifecycle, before["parameter"], before.get("before")),
                "after": kept(row.lifecycle, before["parameter"], before.get("after")),
            }
            return f"{row.lifecycle}: " + _("%(name)s, %(before)s → %(after)s") % said
        if "trigger" in before:
            return format_html("{} · {}", before["trigger"], record or "")
        return record or row.lifecycle

    @admin.display(description=gettext_lazy("Who"))
    def who(self, row: Any) -> Any:
        """The operator."""
        return row.actor_label or row.actor_id

    @admin.display(description=gettext_lazy("Reason"))
    def why(self, row: Any) -> Any:
        """The reason given."""
        return row.reason

    @admin.display(description=gettext_lazy("How it was before"))
    def how_it_was(self, row: Any) -> Any:
        """The facts kept with the operator action."""
        import json

        text = json.dumps(row.before, indent=2, ensure_ascii=False, sort_keys=True)
        return format_html('<pre class="lc-pre">{}</pre>', text)
