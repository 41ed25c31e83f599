"""Fired, BatchReport, RecordView: what the verbs answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from lifecycle.definition.contexts import Record_co
from lifecycle.exceptions import LifecycleError
from lifecycle.models import Run, TransitionLog
from lifecycle.refusals import Refusal


@dataclass(frozen=True, kw_only=True)
class Fired(Generic[Record_co]):
    """What a firing did, generic over the record's model.

    ``record`` is up to date; ``entry`` the history row (None only for a no-op on a record without history); ``runs``
    the runs it enqueued (empty on a replay); ``replayed`` says that nothing was written, for it was done before.
    When the caller holds an outer transaction, all of it is only as sure as that transaction's commit.
    """

    record: Record_co
    entry: TransitionLog | None
    runs: Sequence[Run] = ()
    replayed: bool = False


@dataclass(frozen=True, kw_only=True)
class BatchRefusal:
    """One record of a batch that was not fired, and why."""

    record_id: str
    error: LifecycleError | Exception

    @property
    def refusals(self) -> Sequence[Refusal]:
        """The reasons as `Refusal` objects; empty when it was no explained refusal."""
        return getattr(self.error, "refusals", ())


@dataclass(frozen=True, kw_only=True)
class BatchReport(Generic[Record_co]):
    """What became of every record of a batch, in the order of the records."""

    fired: list[Fired[Record_co]] = field(default_factory=list)
    refused: list[BatchRefusal] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{len(self.fired)} fired, {len(self.refused)} refused"


@dataclass(frozen=True, kw_only=True)
class Availability:
    """A manual transition out of the record's state: allowed, or with every reason why not."""

    name: str
    label: Any
    description: Any
    targets: tuple[str, ...]
    allowed: bool
    refusals: tuple[Refusal, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    form: Any = None


@dataclass(frozen=True, kw_only=True)
class RecordView(Generic[Record_co]):
    """All a page needs: the record, what can be done, what happened (newest first) and what is pending."""

    record: Record_co
    state: str
    version: int
    available: list[Availability]
    history: list[TransitionLog]
    runs: list[Run]
