"""ReadOnlyAdmin: the base of all pages of the library's own rows; nothing is typed in, changed or deleted there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from lifecycle.admin.parts import addresses, permissions
from lifecycle.admin.parts.reports import grouped
from lifecycle.admin.parts.styles import STYLES

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(ModelAdmin):
    """Rows to look at; what an operator may do about them are operator actions of their own, by POST and audited."""

    actions_on_top = True
    list_per_page = 50
    # A row's own page is what its link leads to; the field values stand there as they are.
    view_on_site = False
    change_list_template = "admin/lifecycle/list.html"

    @property
    def media(self) -> forms.Media:
        """With the library's two stylesheets."""
        return super().media + STYLES

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Rows are written by the library alone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: what happened stays; retention prunes what it may."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Those who may view this model, and operators."""
        return permissions.may_see(request.user, self.model)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The app shows in the index for whoever sees one of its pages."""
        return permissions.may_see(request.user, self.model)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """For actions with ``permissions=["operate"]``."""
        return permissions.may_operate(request.user)

    def get_queryset(self, request: HttpRequest) -> Any:
        """The rows; none where the address asks for what no text column can hold."""
        rows = super().get_queryset(request)
        return rows.none() if any("\x00" in value for value in request.GET.values()) else rows

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The list under its own name: nothing is selected to be changed."""
        addresses.stand_on(request, self.admin_site)
        title = str(self.opts.verbose_name_plural)
        return super().changelist_view(request, {"title": title[:1].upper() + title[1:], **(extra_context or {})})

    def gone(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Back to the list, saying that there is no such row: retention may have taken it."""
        said = _("%(name)s “%(key)s” is not there; it may have been pruned.")
        name = str(self.opts.verbose_name)
        self.message_user(request, said % {"name": name[:1].upper() + name[1:], "key": object_id}, messages.WARNING)
        address = f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_changelist"
        return HttpResponseRedirect(reverse(address))

    def missing(self, request: HttpRequest, queryset: Any) -> list[str]:
        """Keys that were posted for an action but are not among the rows this user sees."""
        if request.POST.get("select_across") == "1":
            return []
        posted = request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)
        there = {str(pk) for pk in queryset.values_list("pk", flat=True)}
        return [key for key in dict.fromkeys(posted) if key not in there]

    def report(self, request: HttpRequest, title: Any, rows: Any, **context: Any) -> HttpResponse:
        """The page that says what became of every row of an action."""
        rows = list(rows)
        return TemplateResponse(
            request,
            "admin/lifecycle/report.html",
            {
                **self.admin_site.each_context(request),
                "title": title,
                "opts": self.opts,
                "media": self.media,
                "groups": grouped(rows),
                "done": sum(row.done for row in rows),
                "refused": sum(not row.done for row in rows),
                "back": request.get_full_path(),
                **context,
            },
        )
