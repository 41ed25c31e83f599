"""Channel: a queue of typed messages that belongs to one run of a flow."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, get_args

from lifecycle.definition.flows.waits import ChannelCondition

Message = TypeVar("Message")


class Channel(Generic[Message]):
    """Messages that steps wait for: first in, first out; each goes to exactly one wait, once.

    They may arrive before anybody waits, and stay until they are consumed or the flow ends.

    Args:
        kind: the type of the messages; ``Channel[Picked]()`` says the same.
    """

    name = ""
    owner: Any = None

    def __init__(self, kind: Any = None) -> None:
        self._kind = kind

    def __set_name__(self, owner: Any, name: str) -> None:
        if not self.name:
            self.name, self.owner = name, owner

    @property
    def kind(self) -> Any:
        """The type of the messages; Any where none is said."""
        if self._kind is not None:
            return self._kind
        declared = get_args(getattr(self, "__orig_class__", None))
        return declared[0] if declared else Any

    # What a step may wait for -----------------------------------------------------------------------

    def for_one(self, id: str = "") -> ChannelCondition:
        """One message."""
        return self.for_range(1, 1, id=id)

    def for_n(self, n: int, id: str = "") -> ChannelCondition:
        """Exactly so many."""
        return self.for_range(n, n, id=id)

    def at_least(self, n: int, id: str = "") -> ChannelCondition:
        """So many, and all that lie there at that moment."""
        return self.for_range(n, None, id=id)

    def at_most(self, n: int, id: str = "") -> ChannelCondition:
        """None to so many; never waits."""
        return self.for_range(0, n, id=id)

    def for_range(self, least: int, most: int | None, id: str = "") -> ChannelCondition:
        """At least and at most so many."""
        return ChannelCondition(channel=self.name, least=least, most=most, id=id)
