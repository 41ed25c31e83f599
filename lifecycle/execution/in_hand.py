"""In hand: a claimed run while its code is called — whether going on makes sense, how it says that it is alive."""

from __future__ import annotations

from typing import Any

from lifecycle import clock, conf, payloads
from lifecycle.exceptions import LeaseLost
from lifecycle.execution.limits import Limits
from lifecycle.execution.watchdog import Watch
from lifecycle.store import claims
from lifecycle.store.claims import ClaimedRun

# What `heartbeat` is given when nothing is said about the checkpoint: None says that there is none any more.
KEEP: Any = type("Keep", (), {"__repr__": lambda self: "what is stored"})()


class InHand:
    """The base of what code is given to work with.

    Attributes:
        using: the database of the run.
        checkpoint: what an earlier attempt, or this one, last stored with `heartbeat`.
    """

    def __init__(self, held: ClaimedRun, using: str, watch: Watch, limits: Limits) -> None:
        self.using = using
        self.checkpoint = held.checkpoint
        self._held = held
        self._watch = watch
        self._limits = limits

    @property
    def cancelled(self) -> bool:
        """Whether going on is pointless: the time is up, the run was taken away, or the lease cannot be kept."""
        return self._watch.cancelled

    def heartbeat(self, checkpoint: Any = KEEP) -> None:
        """Says that the code is alive, and stores its progress.

        The lease is renewed by itself; call this where there is a ``heartbeat_timeout``, to learn early that the
        run was lost, or to leave a checkpoint that the next attempt finds in ``ctx.checkpoint``. It does not move the
        deadline.

        Args:
            checkpoint: JSON data to store; None clears what is stored; left out, what is stored stays.

        Raises:
            LeaseLost: the run is no longer ours. Let it pass: nothing that is still done will be recorded.
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
