"""Pending runs: written with the transition that enqueues them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

from lifecycle import conf
from lifecycle.definition.compiled import CompiledEffect
from lifecycle.models import Run
from lifecycle.store import inserting


def lease_seconds(effect: CompiledEffect) -> int:
    """How long a claim of the effect's runs lasts without a renewal: its own lease, or the setting's."""
    lease: dt.timedelta = effect.lease or conf.options().lease
    return math.ceil(lease.total_seconds())


def enqueue(runs: Sequence[Run], using: str) -> list[Run]:
    """Inserts what one transition (or batch) enqueues; must stand in the transition's transaction."""
    return inserting.insert_many(runs, using)
