"""Drain: does what is due in a queue, one run after another, until nothing is or its budget is spent."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import Error, connections

from lifecycle import clock, conf
from lifecycle.exceptions import LeaseLost
from lifecycle.execution import attempts, connecting, isolation, points, watchdog
from lifecycle.execution.watchdog import Watch
from lifecycle.execution.watermark import Watermark
from lifecycle.execution.worker_ids import worker_id
from lifecycle.store import aliases, claims
from lifecycle.store.claims import ClaimedRun, Wanted

log = logging.getLogger("lifecycle.execution")

# So often a database that does not answer is looked at, when others have or may get work.
LOOKS = 4


@dataclass(frozen=True, kw_only=True)
class DrainReport:
    """How many runs were started, and whether more are due."""

    done: int
    more: bool


def drain(
    queue: str = "default",
    *,
    using: str | Sequence[str] | None = None,
    seconds: float | None = None,
    runs: int | None = None,
    stop: Callable[[], bool] | None = None,
    between: Callable[[], object] | None = None,
) -> DrainReport:
    """Does due runs of one queue here and now.

    Args:
        queue: the queue's name.
        using: an alias or several; default: every database that holds the library's tables.
        seconds: for so long new runs are started (default: ``DRAIN_SECONDS``).
        runs: so many are started at most (default: ``DRAIN_RUNS``).
        stop: asked between runs; True ends the drain after the current run.
        between: called before every run from the second on; what it raises is logged.

    Returns:
        What was done. No run's failure ends the drain; nor does a lost connection, which is waited for.
    """
    options = conf.options()
    budget = Budget(
        seconds=options.drain_seconds if seconds is None else seconds,
        runs=options.drain_runs if runs is None else runs,
        stop=stop,
    )
    names = aliases.with_our_tables() if using is None else [using] if isinstance(using, str) else list(using)
    drains = [_Drain(name, queue, budget, between, alone=len(names) == 1) for name in _rotated(names)]
    more = _drain_all(drains, budget)
    return DrainReport(done=budget.done, more=more)


def _rotated(names: list[str]) -> list[str]:
    """Another database first each time, so that none is always the one for which the budget is spent."""
    if len(names) < 2:
        return names
    first = next(_rounds) % len(names)
    return names[first:] + names[:first]


def _drain_all(drains: list[_Drain], budget: Budget) -> bool:
    """Drains the databases one after another until none has work.

    Each gets a share of the budget, so that none waits for another. One that does not answer is passed, and looked at a
    few times more; longer is waited for by whoever drains next.
    """
    more = False
    error: Error | None = None
    waiting = list(drains)
    while waiting:
        for one in list(waiting):
            one.share = max((budget.runs - budget.done) // len(waiting), 1)
            try:
                left = one.run()
            except Error as raised:
                if connections[one.using].in_atomic_block:
                    raise
                connecting.discard_after(raised)
                error, left = error or raised, False
                one.paused = False
            if not one.paused or budget.spent or one.broken >= LOOKS:
                waiting.remove(one)
                more = more or (left and (one.alone or not one.broken))
        if waiting and all(one.broken for one in waiting):
            connecting.pause(min(one.broken for one in waiting), lambda: budget.spent)
    if error is not None:
        raise error
    return more


class Budget:
    """What one drain may still do."""

    def __init__(self, seconds: float, runs: int, stop: Callable[[], bool] | None) -> None:
        self.until = clock.monotonic() + seconds
        self.runs = runs
        self.done = 0
        self._stop = stop

    @property
    def spent(self) -> bool:
        """Whether no further run may be started."""
        return self.done >= self.runs or clock.monotonic() >= self.until or self.stopping()

    def stopping(self) -> bool:
        """Whether the worker was told to end."""
        return self._stop is not None and self._stop()


class _Drain:
    """One queue of one database."""

    def __init__(
        self, using: str, queue: str, budget: Budget, between: Callable[[], object] | None, *, alone: bool
    ) -> None:
        self.using = using
        self.alone = alone  # whether no other database waits
        self.share = 0  # how many runs it may start this time
        self.paused = False  # whether it stopped although more may be due
        self.queue = queue
        self.budget = budget
        self.between = between
        self.claims = claims.for_alias(using)
        self.watermark = Watermark()
        self.worker = f"{worker_id()}:{next(_drains)}"
        self._until = 0
        self.broken = 0
        self.asked = False  # whether the current run's finish claims the next in the same breath
        self.asked_on: object = None  # the connection that was asked
        self.unsure = False  # whether a claim's answer was lost: then a run may be ours without our knowing
        self.begun: set[tuple[int, int]] = set()  # runs that were begun and not reported

    def run(self) -> bool:
        """Drains its share; answers whether more is due."""
        held: ClaimedRun | None = None
        self.paused, self._until = False, self.budget.done + self.share
        while True:
            if held is None:
                if self.budget.spent:
                    self._release_unanswered()
                    return self._more()
                if self._share_is_spent:
                    self.paused = True
                    return True
                held = self._claim()
                if held is None:
                    if not self.broken:
                        return False
                    if not self.alone:
                        self.paused = True
                        return True
                    continue
            held = self._one(held)

    @property
    def _share_is_spent(self) -> bool:
        return not self.alone and self.budget.done >= self._until

    def _one(self, held: ClaimedRun) -> ClaimedRun | None:
        """Starts one claimed run, its lease kept from here on; answers the next if it is claimed already."""
        with watchdog.holding(held, self.using) as watch, isolation.worker():
            return self._held(held, watch)

    def _held(self, held: ClaimedRun, watch: Watch) -> ClaimedRun | None:
        points.reach("after_claim")
        if self.budget.done:
            self._call_between()
            if self.budget.stopping():
                self._release(held)
                return None
        self.budget.done += 1
        self.asked, following = False, None
        try:
            following = attempts.perform(held, self.using, self._wanted, watch, self.budget.stopping)
        except LeaseLost as error:
            self.begun.add(held.proof)
            log.info("%s", error)
        except Exception as error:
            if isinstance(error, connecting.BROKEN) and not watch.entered:
                self.unsure = True  # ours still, perhaps, and not begun
            else:
                self.begun.add(held.proof)
            if connections[self.using].in_atomic_block and isinstance(error, connecting.BROKEN):
                raise
            log.exception("%s could not be reported; unless it is found again, its lease will end.", held)
            self._cannot_go_on(error)
        if self.asked and connections[self.using].connection is not self.asked_on:
            self.unsure = True
        if following is not None:
            self.watermark.seen(following)
            return following
        if self.asked:
            self.watermark.drop()  # nothing from there on: the next claim looks at everything
        if not connections[self.using].in_atomic_block:
            connecting.refresh(self.using)
        return None

    def _wanted(self) -> Wanted | None:
        """The next run as it is asked for right before the current one is finished."""
        if self.budget.spent or self._share_is_spent:
            return None
        self.asked, self.asked_on = True, connections[self.using].connection
        return Wanted(queue=self.queue, worker=self.worker, watermark=self.watermark.value())

    def _claim(self) -> ClaimedRun | None:
        """Claims; None when nothing is due, or (``broken``) when the database does not answer."""
        try:
            held = self._unanswered()
            watermark = self.watermark.value()
            if held is None:
                held = self.claims.claim(Wanted(queue=self.queue, worker=self.worker, watermark=watermark))
            if held is None and watermark is not None:
                self.watermark.drop()
                held = self.claims.claim(Wanted(queue=self.queue, worker=self.worker))
        except connecting.BROKEN as error:
            self.unsure = True
            if connections[self.using].in_atomic_block:
                raise
            log.warning("The database '%s' does not answer: %s", self.using, error)
            self._cannot_go_on(error)
            return None
        self.broken = 0
        if held is not None:
            self.watermark.seen(held)
        return held

    def _unanswered(self) -> ClaimedRun | None:
        """The run that an earlier claim took, if its answer was lost: it is ours and was not begun."""
        if not self.unsure:
            return None
        found = claims.held_by(self.worker, self.begun, self.using)
        kept = self.claims.renew([held.proof for held in found])
        mine = [held for held in found if held.id in kept]
        self.unsure = len(mine) > 1
        return mine[0] if mine else None

    def _release_unanswered(self) -> None:
        """Gives back what was claimed without our knowing, when nothing more is begun."""
        try:
            while (held := self._unanswered()) is not None:
                self.claims.release(held)
        except connecting.BROKEN:
            connecting.discard(self.using)

    def _release(self, held: ClaimedRun) -> None:
        try:
            self.claims.release(held)
        except connecting.BROKEN:
            log.warning("%s could not be released; its lease will end.", held)

    def _more(self) -> bool:
        try:
            return self.claims.due(self.queue)
        except connecting.BROKEN:
            connecting.discard(self.using)
            return True

    def _call_between(self) -> None:
        if self.between is None:
            return
        try:
            self.between()
        except Exception:
            log.exception("What a drain calls between runs failed.")

    def _cannot_go_on(self, error: Exception) -> None:
        """Closes a broken connection and waits a little, longer each time; the next claim opens another."""
        self.watermark.drop()
        if isinstance(error, connecting.BROKEN):
            self.broken += 1
            connecting.discard(self.using)
            if self.alone:
                connecting.pause(self.broken, lambda: self.budget.spent)


_drains = itertools.count(1)
_rounds = itertools.count()
