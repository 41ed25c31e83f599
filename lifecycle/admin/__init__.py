"""Admin: the mixin for one's own records, and the pages of everything the library keeps."""

from __future__ import annotations

from typing import Any

from lifecycle.admin.lifecycles.admin import LifecyclesAdmin, LifecyclesPage
from lifecycle.admin.lists.entries import TransitionLogAdmin
from lifecycle.admin.lists.held import TriggerHoldAdmin
from lifecycle.admin.lists.operator_actions import OperatorActionAdmin
from lifecycle.admin.records import checks  # noqa: F401 importing the check registers it
from lifecycle.admin.records.mixin import LifecycleAdminMixin
from lifecycle.admin.runs.admin import RunAdmin
from lifecycle.models import OperatorAction, Run, TransitionLog, TriggerHold

__all__ = ["LifecycleAdminMixin", "register"]

PAGES = {
    LifecyclesPage: LifecyclesAdmin,
    Run: RunAdmin,
    TriggerHold: TriggerHoldAdmin,
    TransitionLog: TransitionLogAdmin,
    OperatorAction: OperatorActionAdmin,
}


def register(site: Any) -> None:
    """Puts the library's pages on an admin site of one's own; on Django's default site they are already."""
    for model, page in PAGES.items():
        if not site.is_registered(model):
            site.register(model, page)
