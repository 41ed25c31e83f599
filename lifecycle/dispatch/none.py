"""NoDispatcher: nobody is woken; workers poll."""

from __future__ import annotations


class NoDispatcher:
    """For projects that run ``manage.py lifecycle_worker`` and have no broker."""

    def publish(self, queue: str) -> bool:
        """Does nothing: the worker's next poll finds the work."""
        return False
