"""Processes of the cases in `test_own_projects.py`."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from lifecycle import Lifecycle, Transition
from tests.cases.models.own_projects import Crate

S = Crate.Status
NOBODY = uuid.UUID(int=0)


class CrateLifecycle(Lifecycle[Crate]):
    """Has a parameter of every type."""

    class Meta:
        model = Crate
        name = "crates"
        initial = S.PACKED
        final = [S.SENT, S.LOST]

    @dataclass(frozen=True)
    class Parameters:
        price: Decimal = Decimal(5)
        day: date = date(2026, 1, 1)
        moment: datetime = datetime(2026, 1, 1, tzinfo=UTC)
        hour: time = time(9)
        mark: uuid.UUID = NOBODY
        state: S = S.PACKED
        steps: tuple[timedelta, ...] = ()
        least: int | None = 5

    send = Transition(S.PACKED, S.SENT)
    lose = Transition(S.PACKED, S.LOST)
