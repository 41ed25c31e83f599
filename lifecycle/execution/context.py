"""Context: what an effect is given to work with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Generic

from lifecycle.definition.compiled import Definition
from lifecycle.definition.contexts import Record_co
from lifecycle.execution.in_hand import InHand
from lifecycle.execution.limits import Limits
from lifecycle.execution.watchdog import Watch
from lifecycle.models import Run, TransitionLog
from lifecycle.store import outcomes, parameters
from lifecycle.store.claims import ClaimedRun


class EffectContext(InHand, Generic[Record_co]):
    """One start of one run, as the effect sees it. Generic over the record's model.

    Attributes:
        record: the record as it is when the attempt starts, without a lock (for ``atomic`` effects: locked).
        attempt: the number of this start, the crashed ones included; 1 is the first.
        idempotency_key: the same text for all attempts of this run; pass it to the other side.
        now: when the attempt started, by the database's clock.
        deadline: when its time is up; None for an effect without a timeout.
        max_attempts: how many attempts may be made in all; None: no limit.
        checkpoint: what an earlier attempt, or this one, last stored with `heartbeat`.
    """

    def __init__(
        self,
        held: ClaimedRun,
        definition: Definition,
        record: Record_co,
        timeout: dt.timedelta | None,
        using: str,
        watch: Watch,
        limits: Limits,
    ) -> None:
        super().__init__(held, using, watch, limits)
        self.record = record
        self.lifecycle = held.lifecycle
        self.effect = held.effect
        self.attempt = held.start
        self.max_attempts = held.max_attempts
        self.idempotency_key = str(held.idempotency_key)
        self.now = held.started_at
        self.deadline = None if timeout is None else held.started_at + timeout
        self._definition = definition

    @cached_property
    def entry(self) -> TransitionLog:
        """The entry that enqueued this work: transition, source, target, input, actor, at."""
        assert self._held.entry_id is not None, "every effect is enqueued by an entry"
        return outcomes.load_entry(self._held.entry_id, self.using)

    @cached_property
    def run(self) -> Run | None:
        """The run's row, read when first asked for."""
        return outcomes.load(self._held.id, self.using)

    @cached_property
    def parameters(self) -> Any:
        """The lifecycle's parameters as they are now."""
        return parameters.read(self._definition, self.using)

    @property
    def run_id(self) -> int:
        """The run's number."""
        return self._held.id

    @property
    def transition(self) -> str:
        """The transition that enqueued this work."""
        return self.entry.transition

    @property
    def source(self) -> str | None:
        """The state that transition left; None for a creation."""
        return self.entry.source

    @property
    def target(self) -> str:
        """The state that transition entered."""
        return self.entry.target

    @property
    def input(self) -> Mapping[str, Any]:
        """The input of that transition, declared secrets redacted."""
        found: Mapping[str, Any] = self.entry.input
        return found
