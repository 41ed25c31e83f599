"""Processes of the cases in `test_small_things.py`."""

from __future__ import annotations

from typing import Any

from lifecycle import Lifecycle, Transition, on_enter, on_leave
from tests.cases.models.small_things import Leaflet

LS = Leaflet.Status
# The records that a hook was called for.
hooked: list[int] = []


class LeafletLifecycle(Lifecycle[Leaflet]):
    class Meta:
        model = Leaflet
        name = "leaflets"
        initial = LS.NEW
        final = [LS.SENT, LS.KEPT]

    raise_voice = Transition(LS.NEW, LS.LOUD)
    hush = Transition(LS.LOUD, LS.NEW)
    send = Transition([LS.NEW, LS.LOUD], [LS.SENT, LS.KEPT])

    @send.route
    def where(self, ctx: Any) -> str:
        return LS.KEPT if ctx.record.number == 99 else LS.SENT

    @on_leave(LS.LOUD)
    def note_leaving(self, ctx: Any) -> None:
        hooked.append(ctx.record.number)

    @on_enter(LS.KEPT)
    def note_keeping(self, ctx: Any) -> None:
        hooked.append(ctx.record.number)
