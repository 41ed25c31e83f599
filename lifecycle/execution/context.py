"""Context: what an effect is given to work with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Generic

from lifecycle import clock, conf, payloads
from lifecycle.definition.compiled import Definition
from lifecycle.definition.contexts import Record_co
from lifecycle.exceptions import LeaseLost
from lifecycle.execution.limits import Limits
from lifecycle.execution.watchdog import Watch
from lifecycle.models import Run, TransitionLog
from lifecycle.store import claims, outcomes, parameters
from lifecycle.store.claims import ClaimedRun

# What `heartbeat` is given when nothing is said about the checkpoint: None says that there is none any more.
KEEP: Any = type("Keep", (), {"__repr__": lambda self: "what is stored"})()


class EffectContext(Generic[Record_co]):
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
        self.record = record
        self.using = using
        self.lifecycle = held.lifecycle
        self.effect = held.effect
        self.attempt = held.start
        self.max_attempts = held.max_attempts
        self.idempotency_key = str(held.idempotency_key)
        self.now = held.started_at
        self.deadline = None if timeout is None else held.started_at + timeout
        self.checkpoint = held.checkpoint
        self._held = held
        self._definition = definition
        self._watch = watch
        self._limits = limits

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

    @property
    def cancelled(self) -> bool:
        """Whether going on is pointless: the time is up, the run was taken away, or the lease cannot be kept."""
        return self._watch.cancelled

    def heartbeat(self, checkpoint: Any = KEEP) -> None:
        """Says that the effect is alive, and stores its progress.

        The lease is renewed by itself; call this where the effect has a ``heartbeat_timeout``, to learn early that the
        run was lost, or to leave a checkpoint that the next attempt finds in ``ctx.checkpoint``. It does not move the
        deadline.

        Args:
            checkpoint: JSON data to store; None clears what is stored; left out, what is stored stays.

        Raises:
            LeaseLost: the run is no longer ours. Let it pass: nothing the effect still does will be recorded.
            InvalidPayload: the checkpoint is no JSON, or too large.
        """
        self._limits.spoke()
        at = clock.monotonic()
        if checkpoint is not KEEP:
            limit = conf.options().payload_limit
            data = None if checkpoint is None else payloads.jsonable(checkpoint, what="checkpoint", limit=limit)
            self._held_since(at, claims.for_alias(self.using).checkpoint(self._held, data))
            self.checkpoint = data
        elif self.cancelled:
            raise self._lost()
        elif at - self._watch.renewed_at >= self._held.lease_seconds / 8:
            self._held_since(at, self._held.id in claims.for_alias(self.using).renew([self._held.proof]))
        self._limits.spoke()

    def _held_since(self, at: float, held: bool) -> None:
        if held:
            self._watch.renewed(at)
        if not held or self.cancelled:
            raise self._lost()

    def _lost(self) -> LeaseLost:
        return LeaseLost(f"The lease of {self._held} was lost.", run_id=self._held.id)
