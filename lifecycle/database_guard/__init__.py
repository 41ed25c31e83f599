"""Database guard: an optional trigger that refuses a changed state without a grown version.

For what goes round Python: plain SQL, other programs, models of somebody else on the same table, historical models,
fixtures. Switched on by ``LIFECYCLE = {"DATABASE_GUARD": True}``; installed, repaired and removed after every
``migrate``. Nothing of it stands in migrations. DELETE followed by INSERT passes every trigger.
"""

from __future__ import annotations

from lifecycle.database_guard.installation import Installed, ensure

__all__ = ["Installed", "ensure"]
