"""Retention: finished runs and flows older than the project wants to keep."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from lifecycle import conf
from lifecycle.store import pruning, timing
from lifecycle.store.flows import pruning as flows
from lifecycle.store.pruning import Retention
from lifecycle.sweeps.passes import Pass

BATCH = 500
FLOWS = 100
EVERY = dt.timedelta(minutes=10)


def run_once(
    sweep: Pass,
    *,
    after_id: int = 0,
    retention: Retention | None = None,
    delete: bool = True,
    after_batch: Callable[[Pass], None] = lambda sweep: None,
) -> None:
    """Deletes in batches by id while time remains; ``facts["after_id"]`` is where the next pass goes on (0: anew)."""
    kept = retention or configured()
    now = timing.now(sweep.using)
    sweep.facts["after_id"] = after_id
    _flows(sweep, kept, now, delete, after_batch)
    while sweep.has_time():
        window = pruning.prune(kept, now, sweep.using, after_id=sweep.facts["after_id"], size=BATCH, delete=delete)
        sweep.done += window.deleted
        sweep.facts["after_id"] = window.go_on_from or 0
        after_batch(sweep)
        if window.go_on_from is None:
            return


def _flows(sweep: Pass, kept: Retention, now: dt.datetime, delete: bool, after_batch: Callable[[Pass], None]) -> None:
    while sweep.has_time():
        deleted = flows.prune(kept, now, sweep.using, size=FLOWS, delete=delete)
        if deleted:
            sweep.done += deleted
            after_batch(sweep)
        if not delete or deleted < FLOWS:
            return


def configured() -> Retention:
    """What the settings say."""
    options = conf.options()
    return Retention(succeeded=options.retain_succeeded, failed=options.retain_failed)
