"""LifecycleTestMixin: the test kit for unittest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifecycle.testing.kit import Kit

if TYPE_CHECKING:
    from unittest import TestCase as _Base
else:
    _Base = object


class LifecycleTestMixin(_Base):
    """Put before ``TestCase`` or ``TransactionTestCase``; ``self.lifecycle`` is the kit, put back after each test."""

    lifecycle: Kit

    def setUp(self) -> None:
        """Opens the kit; it is closed even when a later ``setUp`` fails."""
        self.lifecycle = self.enterContext(Kit())
        super().setUp()
