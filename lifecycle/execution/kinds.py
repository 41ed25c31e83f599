"""Kind: what a claimed run is — how it is called and bounded, what is written when it ends, what follows.

The worker, the watchdog and the sweep over lost leases know no kind; they ask the one that a run names. A kind is made
known at start-up (`register`), a run's `Work` once per claim.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lifecycle.definition.retries import Retry
from lifecycle.models import Run
from lifecycle.store.claims import ClaimedRun, Wanted

if TYPE_CHECKING:
    from lifecycle.execution.failures import Verdict
    from lifecycle.execution.limits import Limits
    from lifecycle.execution.start import Start
    from lifecycle.execution.watchdog import Watch
    from lifecycle.store.outcomes import Failure


class Options(Protocol):
    """How a run's code is bounded and tried again; a compiled effect is one."""

    @property
    def name(self) -> str: ...
    @property
    def timeout(self) -> dt.timedelta | None: ...
    @property
    def heartbeat_timeout(self) -> dt.timedelta | None: ...
    @property
    def retry(self) -> Retry: ...
    @property
    def atomic(self) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class Ready:
    """What a run's code is to be called with; or, when nothing is to be called, what ends the run instead."""

    subject: Any = None
    instead: Callable[[], None] | None = None


class Work(Protocol):
    """One claimed run, as its kind knows it. Every write carries the fence, and raises `LeaseLost` without it."""

    @property
    def options(self) -> Options:
        """Its bounds."""
        ...

    def prepare(self, start: Start) -> Ready:
        """Reads what the code is called with, right before it is; outside of any transaction."""
        ...

    def lock(self, start: Start) -> Any:
        """The same for atomic work: locked, inside the transaction that the code runs in.

        Raises:
            RecordNotFound: there is nothing to lock any more.
        """
        ...

    def call(self, start: Start, subject: Any, watch: Watch, limits: Limits) -> Any:
        """Calls the code; what it returns and raises is the outcome."""
        ...

    def checked(self, result: Any) -> Any:
        """What the code returned, in the form that is recorded.

        Raises:
            InvalidResult: it cannot be recorded.
        """
        ...

    def succeeded(self, start: Start, result: Any, wanted: Wanted | None) -> ClaimedRun | None:
        """Records success and what follows; may claim the next run in the same step."""
        ...

    def succeeded_atomically(self, start: Start, result: Any) -> None:
        """The same inside the transaction that the code ran in."""
        ...

    def failed(self, start: Start, failure: Failure) -> None:
        """Records that there is no further attempt, and what follows."""
        ...

    def timed_out(self, start: Start, failure: Failure, now: dt.datetime) -> None:
        """The same from the watchdog's thread, inside its short transaction: nothing of a project's is called."""
        ...

    def gone(self, start: Start) -> None:
        """Records that what the run is about is not there any more; the code was not called."""
        ...

    def attempt_failed(self, start: Start, verdict: Verdict, error: BaseException) -> None:
        """Announces a failed attempt after it was recorded."""
        ...


class Kind(Protocol):
    """One kind of run."""

    def work(self, held: ClaimedRun) -> Work | None:
        """What this process knows of a claimed run; None: it does not know it, another process may."""
        ...

    def died(self, run: Run | ClaimedRun, now: dt.datetime, using: str) -> None:
        """Writes what comes of a run's death, in the transaction that recorded it."""
        ...

    def is_followed(self, run: Run | ClaimedRun) -> bool:
        """Whether the death of this run is followed by a transition."""
        ...


_kinds: dict[str, Kind] = {}


def register(name: str, kind: Kind) -> None:
    """Makes a kind known to this process."""
    _kinds[name] = kind


def find(name: str) -> Kind | None:
    """The kind of this name; None in a process whose code does not have it."""
    return _kinds.get(name)
