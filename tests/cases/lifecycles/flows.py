"""The process of records that flows belong to."""

from __future__ import annotations

from typing import Any

from lifecycle import Lifecycle, Transition
from lifecycle.flows import starts
from tests.cases.flows import Dispatch
from tests.cases.models.flows import Shipment

S = Shipment.Status


class ShipmentLifecycle(Lifecycle[Shipment]):
    class Meta:
        model = Shipment
        name = "shipments"
        initial = S.NEW
        final = [S.RETURNED]

    pay = Transition(S.NEW, S.PAID)
    ship = Transition(S.PAID, S.SHIPPED, accept=["carrier"], manual=False)
    take_back = Transition([S.PAID, S.SHIPPED], S.RETURNED)
    pay_again = Transition(S.SHIPPED, S.PAID)

    dispatch = starts(
        Dispatch,
        on_enter=S.PAID,
        input=lambda ctx: str(ctx.record.pk),
        when=lambda ctx: not ctx.record.by_hand,
    )

    @ship.guard(message="The shipment is locked.")
    def is_not_locked(self, ctx: Any) -> bool:
        return not ctx.record.locked
