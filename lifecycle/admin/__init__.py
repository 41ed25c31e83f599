"""Admin: the operator's desk — the mixin for one's own records, and the pages of everything the library keeps."""

from __future__ import annotations

from lifecycle.admin import deeds, entries, held, lifecycles, runs
from lifecycle.admin.mixins import LifecycleAdminMixin

__all__ = ["LifecycleAdminMixin", "deeds", "entries", "held", "lifecycles", "runs"]
