"""Announcements: signals for what a committed transaction did, in the order of the entries."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from django.dispatch import Signal

from lifecycle import signals
from lifecycle.actors import as_actor
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import Refused
from lifecycle.models import TransitionLog
from lifecycle.store.transactions import Parts

logger = logging.getLogger("lifecycle.signals")


@dataclass
class Announcement:
    """Registered before a transition's hooks run, so that it comes before what they cause; completed afterwards."""

    definition: Definition
    record: Any
    entry: TransitionLog | None = None
    parts: Parts | None = None  # of a transaction that is somebody else's

    def of(self, entry: TransitionLog) -> None:
        """Completes it by the entry that was written."""
        self.entry = entry
        if self.parts is not None:
            self.parts.add(entry)

    def send(self) -> None:
        """Tells the listeners what was committed; one that fails is logged and disturbs nobody."""
        entry = self.entry
        if entry is None or not self._is_heard():
            return
        if self.parts is not None and not self.parts.stand(entry):
            return
        facts = {
            "record": self.record,
            "entry": entry,
            "lifecycle": entry.lifecycle,
            "transition": entry.transition,
            "source": entry.source,
            "target": entry.target,
            "actor": (entry.actor_kind, entry.actor_id),
        }
        tell(signals.transition_committed, self.definition.model, **facts)
        tell(signals.state_entered, self.definition.model, **facts)
        if signals.transition_available.has_listeners(self.definition.model):
            for edge in self.definition.leaving(entry.target):
                if edge.manual:
                    tell(signals.transition_available, self.definition.model, **{**facts, "transition": edge.name})

    def _is_heard(self) -> bool:
        model = self.definition.model
        told = (signals.transition_committed, signals.state_entered, signals.transition_available)
        return any(signal.has_listeners(model) for signal in told)


def refused(definition: Definition, transition: Any, record_id: str, actor: Any, error: Refused) -> None:
    """Tells that somebody was refused; a refusal of nested work has been told where it was fired."""
    name = str(getattr(transition, "name", transition))
    if error.transition not in (None, name) or not signals.transition_refused.has_listeners(definition.model):
        return
    tell(
        signals.transition_refused,
        definition.model,
        lifecycle=definition.name,
        record_id=record_id,
        transition=name,
        actor=as_actor(actor),
        error=error,
    )


def register(definition: Definition, record: Any, using: str) -> Announcement:
    """Announces after the outermost commit, unless what is announced is rolled back."""
    nested = len(connections[using].atomic_blocks) > 1
    announcement = Announcement(definition, record, parts=Parts.of(using) if nested else None)
    after_commit(announcement.send, using)
    return announcement


def after_commit(call: Callable[[], None], using: str) -> None:
    """Runs a function after the outermost commit of this database; its failure is logged by Django, never raised."""
    transaction.on_commit(call, using=using, robust=True)


def tell(signal: Signal, sender: Any, **facts: Any) -> None:
    """Sends a signal to all listeners and logs those that fail."""
    for receiver, answer in signal.send_robust(sender=sender, **facts):
        if isinstance(answer, Exception):
            logger.error("A listener failed: %r", receiver, exc_info=answer)
