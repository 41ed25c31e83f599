"""Processes of the cases in `test_neighbours.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle import Lifecycle, Transition
from tests.cases.models.neighbours import Invoice, Status

# What a hook of `renew` does; the test replaces it.
renewing: dict[str, Callable[[Any], Any]] = {}


class InvoiceLifecycle(Lifecycle[Invoice]):
    class Meta:
        model = Invoice
        name = "invoices"
        initial = Status.OPEN
        final = [Status.CLOSED]

    renew = Transition(Status.OPEN, Status.OPEN)
    close = Transition(Status.OPEN, Status.CLOSED)

    @renew.hook
    def renewed(self, ctx: Any) -> None:
        renewing.get("hook", lambda ctx: None)(ctx)
