"""Processes of the cases in `test_bad_parameters.py`."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal

from lifecycle import Lifecycle, Timeout, Transition
from tests.cases.models.bad_parameters import Measured

S = Measured.Status


class MeasuredLifecycle(Lifecycle[Measured]):
    class Meta:
        model = Measured
        name = "measured"
        initial = S.NEW
        final = [S.SHIPPED]

    @dataclass(frozen=True)
    class Parameters:
        share: float = 0.5
        word: str = "yes"
        count: int = 1
        price: Decimal = Decimal("1.50")
        wait: dt.timedelta = dt.timedelta(hours=1)
        opened: dt.datetime = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        words: list[str] = field(default_factory=list)
        shares: dict[str, float] = field(default_factory=dict)
        low: int = 1
        high: int = 10

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("low must not be above high.")

    pay = Transition(S.NEW, S.PAID)
    ship = Transition(S.PAID, S.SHIPPED)
    in_time = Timeout(ship, when=S.PAID, after=lambda parameters: parameters.wait * 2)
