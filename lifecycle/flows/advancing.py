"""Advancing: the kind of run that applies whatever facts lie there for a flow — messages, times, stops, failures."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from lifecycle.definition.flows.flow import FlowDefinition
from lifecycle.definition.retries import Retry
from lifecycle.execution import finishing
from lifecycle.execution.failures import Verdict
from lifecycle.execution.kinds import Ready
from lifecycle.execution.limits import Limits
from lifecycle.execution.start import Start
from lifecycle.execution.watchdog import Watch
from lifecycle.flows import changing, committing, known
from lifecycle.models import FlowStatus, Run
from lifecycle.store import outcomes, timing
from lifecycle.store.claims import ClaimedRun, Wanted
from lifecycle.store.flows import facts, locks, rows
from lifecycle.store.outcomes import Failure

RETRY = Retry(attempts=None, maximum=dt.timedelta(minutes=5))


class AdvanceKind:
    """See `kinds.Kind`."""

    def work(self, held: ClaimedRun) -> AdvanceWork | None:
        definition = known.find(held.effect.removesuffix(f".{facts.ADVANCE}"))
        return AdvanceWork(definition=definition) if definition is not None else None

    def died(self, run: Run | ClaimedRun, now: dt.datetime, using: str) -> None:
        """An advance is never given up."""

    def is_followed(self, run: Run | ClaimedRun) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class AdvanceOptions:
    """An advance is our own work: it is tried until it succeeds."""

    name: str = "advance"
    timeout: dt.timedelta | None = None
    heartbeat_timeout: dt.timedelta | None = None
    retry: Retry = RETRY
    atomic: bool = False


@dataclass(frozen=True, kw_only=True)
class AdvanceWork:
    """See `kinds.Work`. There is no code of a project's to call: all is done in the commit."""

    definition: FlowDefinition
    options: AdvanceOptions = AdvanceOptions()

    def prepare(self, start: Start) -> Ready:
        return Ready()

    def lock(self, start: Start) -> Any:
        return None

    def call(self, start: Start, subject: Any, watch: Watch, limits: Limits) -> Any:
        return None

    def checked(self, result: Any) -> Any:
        return None

    def succeeded(self, start: Start, result: Any, wanted: Wanted | None) -> ClaimedRun | None:
        committing.record(start, lambda: self._advance(start))
        return None

    def succeeded_atomically(self, start: Start, result: Any) -> None:
        self._advance(start)

    def failed(self, start: Start, failure: Failure) -> None:
        now = timing.now(start.using)
        if not outcomes.fail(start.held, failure, now, start.using, follow_up=False):
            raise finishing.lost(start.held)

    def timed_out(self, start: Start, failure: Failure, now: dt.datetime) -> None:
        outcomes.fail(start.held, failure, now, start.using, follow_up=False, bump=True)

    def gone(self, start: Start) -> None:
        self.failed(start, Failure(kind="gone", error="The flow is not there any more."))

    def attempt_failed(self, start: Start, verdict: Verdict, error: BaseException) -> None:
        """Nobody listens to our own work."""

    def _advance(self, start: Start) -> None:
        """Locks the flow, then looks: everything that lies there is applied, and the advances that came for it end."""
        held, using = start.held, start.using
        flow = locks.to_change(held.flow_id or 0, using)
        now = timing.now(using)
        if not outcomes.succeed(held, None, now, using, follow_up=False):
            raise finishing.lost(held)
        others = rows.other_advances(flow, held.id, now, using)
        if flow.status == FlowStatus.RUNNING:
            changing.apply(self.definition, flow, rows.pending_events(flow, using), now, using)
            changing.time_out(flow, now, using)
        if flow.status == FlowStatus.RUNNING:
            changing.serve(self.definition, flow, now, using)
        rows.save(flow, now, using)
        rows.end_advances(others, now, using)
