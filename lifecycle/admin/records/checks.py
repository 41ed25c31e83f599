"""Check: no admin page adds records of a lifecycle past the runtime."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import site as default_site
from django.contrib.admin.sites import all_sites
from django.core.checks import CheckMessage, Error, register

from lifecycle import registry
from lifecycle.admin.records.mixin import LifecycleAdminMixin


@register("lifecycle")
def inlines_begin_through_the_runtime(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Reports an admin page that would insert records of a lifecycle without their beginning."""
    pages = [page for site in {default_site, *all_sites} for page in site._registry.values()]
    return [
        Error(
            f"{inline.__name__} adds records of {inline.model._meta.label} without their lifecycle: at version 0, "
            "with no entry, no guard and no effect.",
            hint=f"class {type(page).__name__}(lifecycle.admin.LifecycleAdminMixin, admin.ModelAdmin); "
            f"or max_num = 0 on {inline.__name__}.",
            obj=type(page),
            id="lifecycle.E140",
        )
        for page in pages
        if not isinstance(page, LifecycleAdminMixin)
        for inline in page.inlines
        if inline.max_num != 0 and registry.for_model(inline.model)
    ]
