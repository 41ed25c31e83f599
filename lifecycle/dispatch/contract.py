"""Dispatcher: what the runtime asks of whatever wakes workers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Dispatcher(Protocol):
    """Wakes one worker for one queue.

    A dispatcher carries no work: the message says only "look at this queue". Losing one costs latency (the tick sends
    another), a duplicate costs one empty claim. Hence the contract:

    * called after the commit, in the thread that committed, possibly from many threads at once;
    * never raises, and returns within a bounded time whatever state the broker is in;
    * keeps nothing that a fork could share with the parent.
    """

    def publish(self, queue: str) -> bool:
        """Asks some worker to drain ``queue``.

        Returns:
            True when the message was handed over; False when it was not (nothing is lost by that).
        """
        ...
