"""Processes of the cases in `test_inlines.py`."""

from __future__ import annotations

from typing import Any

from lifecycle import CREATE, Lifecycle, Transition, guard
from tests.cases.models.inlines import Book

S = Book.Status


class BookLifecycle(Lifecycle[Book]):
    class Meta:
        model = Book
        name = "books"
        initial = S.NEW
        final = [S.READ]

    read = Transition(S.NEW, S.READ)

    @guard(on=CREATE, message="The shelf takes no comics.")
    def is_no_comic(self, ctx: Any) -> bool:
        return ctx.record.title != "Comic"
