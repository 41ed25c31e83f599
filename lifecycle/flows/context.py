"""Context: what the methods of a step are given to work with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from lifecycle import conf, registry
from lifecycle.definition.flows import codecs
from lifecycle.definition.flows.channels import Channel
from lifecycle.definition.flows.flow import FlowDefinition
from lifecycle.exceptions import LifecycleError, UnknownFlow
from lifecycle.execution.in_hand import InHand
from lifecycle.execution.limits import Limits
from lifecycle.execution.watchdog import Watch
from lifecycle.models import FlowRun, StepExecution
from lifecycle.store import lives, records
from lifecycle.store.claims import ClaimedRun

Message = TypeVar("Message")


@dataclass(frozen=True, kw_only=True)
class StagedFire:
    """A transition that a step wants fired in its commit."""

    transition: str
    input: Any


class StepContext(InHand):
    """One attempt of one method of a step.

    Attributes:
        flow: the run of the flow, as it was when the attempt began.
        execution: the name of this execution, ``Pack-1``.
        came_from: the execution whose decision began it; ``$start`` for the first.
        attempt: the number of this attempt, the crashed ones included; 1 is the first.
        idempotency_key: the same text for all attempts of this execution; pass it to the other side.
        now: when the attempt began, by the database's clock.
        wait_failed: whether ``wait_for`` failed for good and the step goes on all the same.
        recovery_error: what the step that this one recovers from failed with.
    """

    def __init__(
        self,
        held: ClaimedRun,
        definition: FlowDefinition,
        execution: StepExecution,
        using: str,
        watch: Watch,
        limits: Limits,
    ) -> None:
        super().__init__(held, using, watch, limits)
        self.flow: FlowRun = execution.flow
        self.execution = str(execution)
        self.came_from = execution.came_from
        self.attempt = held.start
        self.idempotency_key = f"flow:{self.flow.pk}:{self.execution}"
        self.now: dt.datetime = held.started_at
        self.wait_failed = execution.wait_failed
        self.recovery_error = execution.recovery_error
        self.staged_messages: list[tuple[str, Any]] = []
        self.staged_fires: list[StagedFire] = []
        self._brought = execution.brought
        self._definition = definition

    # What the wait brought --------------------------------------------------------------------------

    def results(self, channel: Channel[Message]) -> Sequence[Message]:
        """The messages of a channel that ended the wait; none when something else ended it."""
        name = self._channel(channel)
        stored = self._brought.get("messages", {}).get(name, [])
        return [codecs.load(one, channel.kind, what=f"message of '{name}'") for one in stored]

    def result(self, channel: Channel[Message]) -> Message | None:
        """The first of them, or None."""
        found = self.results(channel)
        return found[0] if found else None

    def timer_fired(self, id: str | int = 0) -> bool:
        """Whether a timer was due when the wait ended, by its id or its place among the conditions."""
        return str(id) in self._brought.get("fired", [])

    # What is written in the step's commit -----------------------------------------------------------

    def publish(self, channel: Channel[Message], message: Message) -> None:
        """Publishes to a channel of this flow, in the step's commit.

        Raises:
            UnknownFlow: the flow has no such channel.
            InvalidPayload: the message is none of the channel's.
        """
        name = self._channel(channel)
        limit = conf.options().payload_limit
        stored = codecs.dump(message, self._definition.channels[name].kind, what=f"message of '{name}'", limit=limit)
        self.staged_messages.append((name, stored))

    def fire(self, transition: Any, *, input: Any = None) -> None:
        """Fires a transition of the flow's record in the step's commit; refused, the attempt has failed.

        Raises:
            LifecycleError: the flow belongs to no record.
        """
        if not self.flow.lifecycle:
            raise LifecycleError(f"{self.flow} belongs to no record; start it with record=….", code="no_record")
        self.staged_fires.append(StagedFire(transition=getattr(transition, "name", transition), input=input or {}))

    # The record -------------------------------------------------------------------------------------

    @cached_property
    def record(self) -> Any:
        """The record the flow belongs to, read when first asked for; None for a flow of none.

        Raises:
            RecordNotFound: it was deleted, whoever has its key now.
        """
        if not self.flow.lifecycle:
            return None
        definition = registry.get(self.flow.lifecycle)
        found = records.read(definition, self.flow.record_id, self.using)
        lives.must_be(definition, found, self.flow.record_version, self.using)
        return found

    def _channel(self, channel: Channel[Any] | str) -> str:
        try:
            return self._definition.channel(channel)
        except LookupError as error:
            raise UnknownFlow(str(error)) from None
