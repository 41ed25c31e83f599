"""RecordingDispatcher: remembers who would have been woken (tests)."""

from __future__ import annotations


class RecordingDispatcher:
    """Keeps the queues it was asked to wake, in order."""

    def __init__(self) -> None:
        self.published: list[str] = []

    def publish(self, queue: str) -> bool:
        """Remembers the queue."""
        self.published.append(queue)
        return True

    def clear(self) -> None:
        """Forgets what was published so far."""
        self.published.clear()
