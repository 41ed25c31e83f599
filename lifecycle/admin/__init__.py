"""Admin: the mixin for one's own records, and the pages of everything the library keeps."""

from __future__ import annotations

from typing import Any

from lifecycle.admin.entries import TransitionLogAdmin
from lifecycle.admin.held import TriggerHoldAdmin
from lifecycle.admin.lifecycles import LifecyclesAdmin, LifecyclesPage
from lifecycle.admin.mixins import LifecycleAdminMixin
from lifecycle.admin.operator_actions import OperatorActionAdmin
from lifecycle.admin.runs import EffectRunAdmin
from lifecycle.models import EffectRun, OperatorAction, TransitionLog, TriggerHold

__all__ = ["LifecycleAdminMixin", "register"]

PAGES = {
    LifecyclesPage: LifecyclesAdmin,
    EffectRun: EffectRunAdmin,
    TriggerHold: TriggerHoldAdmin,
    TransitionLog: TransitionLogAdmin,
    OperatorAction: OperatorActionAdmin,
}


def register(site: Any) -> None:
    """Puts the library's pages on an admin site of one's own; on Django's default site they are already."""
    for model, page in PAGES.items():
        if not site.is_registered(model):
            site.register(model, page)
