"""Processes of the cases in `test_requests.py`."""

from __future__ import annotations

from lifecycle import Lifecycle, Transition
from tests.cases.models.requests import Serial, Sheet, Status


class SheetLifecycle(Lifecycle[Sheet]):
    class Meta:
        model = Sheet
        name = "sheets"
        initial = Status.NEW
        final = [Status.DONE]

    finish = Transition(Status.NEW, Status.DONE)


class SerialLifecycle(Lifecycle[Serial]):
    class Meta:
        model = Serial
        name = "serials"
        initial = Status.NEW
        final = [Status.DONE]

    renew = Transition(Status.NEW, Status.NEW, accept=["iban"], secrets=["iban"])
    finish = Transition(Status.NEW, Status.DONE)
