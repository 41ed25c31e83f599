"""TransitionLogAdmin: the history of every record, to read."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy

from lifecycle.admin.lists.lifecycle_filter import LifecycleFilter
from lifecycle.admin.lists.named_records import NamedRecordList
from lifecycle.admin.lists.read_only import ReadOnlyAdmin
from lifecycle.admin.parts import entries, times
from lifecycle.models import TransitionLog


class ActorKindFilter(admin.ChoicesFieldListFilter):
    """By who fired, under a name in the reader's language."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = gettext_lazy("actor")


@admin.register(TransitionLog)
class TransitionLogAdmin(ReadOnlyAdmin):
    list_display = ["number", "what", "record", "who", "came_with", "when"]
    list_display_links = ["number"]
    list_filter = [LifecycleFilter, ("actor_kind", ActorKindFilter)]
    search_fields = ["record_id"]
    search_help_text = gettext_lazy("Record, request id or transition")
    ordering = ["-id"]
    show_full_result_count = False
    fields = ["number", "what", "of_lifecycle", "record", "who", "why", "came_in", "request", "when", "definition"]
    readonly_fields = [
        "number", "what", "of_lifecycle", "record", "who", "why", "came_in", "request", "when", "definition",
    ]  # fmt: skip

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NamedRecordList]:
        """The list that names the records."""
        return NamedRecordList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Exact: a record's id, a request id, a transition's name."""
        term = search_term.strip().replace("\x00", "")
        if not term:
            return queryset, False
        return queryset.filter(Q(record_id=term) | Q(request_id=term) | Q(transition=term)), False

    @admin.display(description=gettext_lazy("Version"), ordering="id")
    def number(self, entry: Any) -> Any:
        """The version it made."""
        return format_html('<span class="lc-v">{}</span>', entry.version)

    @admin.display(description=gettext_lazy("What happened"))
    def what(self, entry: Any) -> Any:
        """The transition, and from where to where."""
        return entries.happened(entry)

    @admin.display(description=gettext_lazy("Record"))
    def record(self, entry: Any) -> Any:
        """Which record."""
        shown = getattr(entry, "shown_record", None)
        return shown.link if shown is not None else entry.record_id

    @admin.display(description=gettext_lazy("Who"))
    def who(self, entry: Any) -> Any:
        """The actor."""
        return entries.who(entry, self.admin_site)

    @admin.display(description=gettext_lazy("What was entered"))
    def came_with(self, entry: Any) -> Any:
        """Reason and input, shortened."""
        return entries.entered(entry)

    @admin.display(description=gettext_lazy("Lifecycle"))
    def of_lifecycle(self, entry: Any) -> Any:
        """The lifecycle's name."""
        return entry.lifecycle

    @admin.display(description=gettext_lazy("Reason"))
    def why(self, entry: Any) -> Any:
        """The reason given."""
        return entry.reason or ""

    @admin.display(description=gettext_lazy("Request id"))
    def request(self, entry: Any) -> Any:
        """The request id it came under."""
        return entry.request_id or ""

    @admin.display(description=gettext_lazy("Definition"))
    def definition(self, entry: Any) -> Any:
        """Which definition was in force."""
        return format_html("<code>{}</code>", entry.definition_hash)

    @admin.display(description=gettext_lazy("Input"))
    def came_in(self, entry: Any) -> Any:
        """The input, whole; secrets are redacted in the row."""
        text = json.dumps(entry.input, indent=2, ensure_ascii=False, sort_keys=True)
        return format_html('<pre class="lc-pre">{}</pre>', text)

    @admin.display(description=gettext_lazy("When"), ordering="id")
    def when(self, entry: Any) -> Any:
        """Time."""
        return times.tag(entry.at)
