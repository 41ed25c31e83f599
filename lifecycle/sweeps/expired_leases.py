"""Expired leases: runs whose worker is gone."""

from __future__ import annotations

import logging

from lifecycle.execution import crashes
from lifecycle.sweeps.outages import Leases
from lifecycle.sweeps.passes import Pass

log = logging.getLogger("lifecycle.sweeps")

BATCH = 200
# So many runs that could not be taken back are named in a pass's report.
NAMED = 20


def run_once(sweep: Pass) -> None:
    """Takes runs back from workers that stopped renewing, batch by batch; each goes back to its queue or is dead.

    A run that cannot be taken back is reported and passed, so that it keeps no other with its lost worker.
    """
    leases = Leases(sweep.using)
    if leases.are_their_holders():
        return
    failed: dict[int, Exception] = {}
    since = leases.resume_at
    while sweep.has_time():
        taken = crashes.take_back(sweep.using, limit=BATCH, since=since, without=failed, patience=leases.wait)
        if taken.waited is not None:
            leases.hold_back(taken.waited)
            return
        failed |= taken.failed
        sweep.done += taken.queued + taken.dead
        since = taken.last or since
        if not taken.more:
            since = None
            break
    _report(sweep, failed)
    leases.looked_at(since)


def _report(sweep: Pass, failed: dict[int, Exception]) -> None:
    if not failed:
        return
    named = [
        f"Run {run_id} could not be taken back from its lost worker: {type(error).__name__}: {error}"[:500]
        for run_id, error in list(failed.items())[:NAMED]
    ]
    if len(failed) > NAMED:
        named.append(f"{len(failed) - NAMED} more runs could not be taken back from their lost workers.")
    log.error("%s", "\n".join(named), exc_info=next(iter(failed.values())))
    sweep.failures += named
