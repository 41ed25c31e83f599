"""LifecyclesAdmin: the Lifecycles page in the admin's index, and the pages that change a parameter."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.apps.registry import Apps
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models, router
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle import registry
from lifecycle.admin.lifecycles import health, sections
from lifecycle.admin.lifecycles.parameter_page import change_parameter
from lifecycle.admin.lists.read_only import ReadOnlyAdmin
from lifecycle.admin.parts import addresses, permissions
from lifecycle.models import Run
from lifecycle.store import aliases

# A registry of its own keeps the page's model out of migrations and of everybody's ``apps.get_models()``; it knows the
# same apps, because templates ask a model for the name of its app.
OWN = Apps()
OWN.app_configs = apps.app_configs


class LifecyclesPage(models.Model):
    """No table and no rows: what the admin's index needs to list a page."""

    class Meta:
        app_label = "lifecycle"
        apps = OWN
        managed = False
        verbose_name = gettext_lazy("overview")
        verbose_name_plural = gettext_lazy("overview")
        default_permissions = ()


@admin.register(LifecyclesPage)
class LifecyclesAdmin(ReadOnlyAdmin):
    """Not a list of rows: one page about all lifecycles."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Those who may see runs."""
        return permissions.may_see(request.user, Run)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The same."""
        return permissions.may_see(request.user, Run)

    def get_urls(self) -> list[URLPattern]:
        """The page, and one per parameter."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="lifecycle_lifecyclespage_changelist"),
            path("<str:lifecycle>/<str:name>/", view(self.parameter_view), name="lifecycle_parameter"),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The page."""
        addresses.stand_on(request, self.admin_site)
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": _("Lifecycles"),
            "opts": self.opts,
            "media": self.media,
            "tiles": health.tiles(),
            "sections": sections.sections(request, self.admin_site),
            "may_operate": permissions.may_operate(request.user),
        }
        return TemplateResponse(request, "admin/lifecycle/lifecycles.html", context)

    def parameter_view(self, request: HttpRequest, lifecycle: str, name: str) -> HttpResponse:
        """One parameter: its value, its history, and by POST another value."""
        addresses.stand_on(request, self.admin_site)
        if not self.has_view_permission(request):
            raise PermissionDenied
        definition = registry.find(lifecycle)
        known = definition.parameters.__dataclass_fields__ if definition and definition.parameters else {}
        if definition is None or name not in known:
            raise Http404(_("There is no such parameter."))
        using = request.GET.get("database") or router.db_for_write(definition.model)
        if using not in aliases.with_our_tables():
            raise Http404(_("There is no such database."))
        if request.method == "POST" and not permissions.may_operate(request.user):
            raise PermissionDenied
        answer = change_parameter(request, definition, name, using)
        if answer.done:
            messages.success(request, answer.done)
            return HttpResponseRedirect(reverse(f"{self.admin_site.name}:lifecycle_lifecyclespage_changelist"))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Change parameter"),
            "subtitle": f"{definition.name} · {name}",
            "opts": self.opts,
            "media": self.media,
            "may_operate": permissions.may_operate(request.user),
            **answer.context,
        }
        return TemplateResponse(request, "admin/lifecycle/parameter.html", context, status=answer.status)
