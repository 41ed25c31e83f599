"""Claims: what every database must offer a worker — take a run under a lease, keep it, give it back, finish it."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lifecycle.definition.names import effect_name
from lifecycle.models import Run
from lifecycle.store import timing

TABLE = Run._meta.db_table

# The columns a worker needs, in the order of `claimed`; read by hand-written SQL, no ORM on the hot path.
COLUMNS = (
    "id",
    "kind",
    "entry_id",
    "flow_id",
    "execution_id",
    "lifecycle",
    "record_id",
    "effect",
    "queue",
    "stay_version",
    "available_at",
    "attempts",
    "max_attempts",
    "retry_base",
    "crashes",
    "max_crashes",
    "fence",
    "lease_seconds",
    "lease_until",
    "leased_by",
    "started_at",
    "first_started_at",
    "marks_entry",
    "entered_at",
    "idempotency_key",
    "checkpoint",
    "reminder",
    "trace_context",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimedRun:
    """A run as its worker holds it. ``id`` and ``fence`` together are the proof of the lease."""

    id: int
    kind: str
    entry_id: int | None
    flow_id: int | None
    execution_id: int | None
    lifecycle: str
    record_id: str
    effect: str
    queue: str
    stay_version: int | None
    available_at: dt.datetime
    attempts: int
    max_attempts: int | None
    retry_base: int
    crashes: int
    max_crashes: int
    fence: int
    lease_seconds: int
    lease_until: dt.datetime
    leased_by: str
    started_at: dt.datetime
    first_started_at: dt.datetime | None
    marks_entry: bool
    entered_at: dt.datetime | None
    idempotency_key: uuid.UUID
    checkpoint: Any
    reminder: str
    trace_context: Any = None

    @property
    def start(self) -> int:
        """The number of this start: those that reported back, those that crashed, and this one."""
        return self.attempts + self.crashes + 1

    @property
    def proof(self) -> tuple[int, int]:
        """What every write about this run must carry."""
        return self.id, self.fence

    def __str__(self) -> str:
        return f"run {self.id} ({effect_name(self.lifecycle, self.effect)} of {self.record_id})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Which run a worker would take next.

    ``watermark`` is the ``available_at`` of the worker's last claim: earlier index entries are mostly dead ones that an
    old snapshot keeps alive (protocol §5.4). A worker drops it when it finds nothing and once a second.
    """

    queue: str
    worker: str
    watermark: dt.datetime | None = None


class Claims(Protocol):
    """One database's way to claim. Every write carries id, fence and ``status = 'running'``; a False answer means the
    lease was lost: the caller stops, writes nothing and calls nothing.
    """

    def claim(self, wanted: Wanted) -> ClaimedRun | None:
        """Takes the run of the queue that has been due longest; its fence grows by one. None: nothing is due."""
        ...

    def finish_and_claim(self, held: ClaimedRun, result: Any, wanted: Wanted | None) -> tuple[bool, ClaimedRun | None]:
        """Records success without a follow-up and takes the next run.

        Returns:
            Whether the finish held (the lease was still ours), and the next run. The next run is valid either way.
        """
        ...

    def release(self, held: ClaimedRun, delay: dt.timedelta | None = None) -> bool:
        """Gives back a run that was not started: no attempt is charged. With a delay it is due that much later."""
        ...

    def renew(self, proofs: Sequence[tuple[int, int]]) -> set[int]:
        """Extends leases; an expired one too, as long as nobody took it back.

        Returns:
            The ids still held. A row that somebody's transaction has locked right now counts as held.
        """
        ...

    def checkpoint(self, held: ClaimedRun, data: Any) -> bool:
        """Stores the effect's progress and extends the lease."""
        ...

    def due(self, queue: str) -> bool:
        """Whether a run of the queue could be claimed now."""
        ...


def claimed(row: Sequence[Any]) -> ClaimedRun:
    """A row of `COLUMNS` as a `ClaimedRun`."""
    values = dict(zip(COLUMNS, row, strict=True))
    for name in ("available_at", "lease_until", "started_at", "first_started_at", "entered_at"):
        values[name] = timing.from_database(values[name])
    if not isinstance(values["idempotency_key"], uuid.UUID):
        values["idempotency_key"] = uuid.UUID(values["idempotency_key"])
    values["marks_entry"] = bool(values["marks_entry"])  # a number on SQLite and MySQL
    for name in ("checkpoint", "trace_context"):
        if isinstance(values[name], str):
            values[name] = json.loads(values[name])
    return ClaimedRun(**values)


def as_json(value: Any) -> str | None:
    """JSON data as the text of a JSON column; None stays SQL's NULL, as Django stores it."""
    return None if value is None else json.dumps(value)


def columns(alias: str = "") -> str:
    """The column list for SQL."""
    prefix = f"{alias}." if alias else ""
    return ", ".join(prefix + name for name in COLUMNS)


def pairs(proofs: Iterable[tuple[int, int]]) -> tuple[str, list[int]]:
    """SQL that is true for rows whose id and fence are among the proofs."""
    listed = list(proofs)
    text = " OR ".join(["(id = %s AND fence = %s)"] * len(listed))
    return f"({text})", [number for proof in listed for number in proof]
