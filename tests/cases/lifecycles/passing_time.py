"""Processes of the cases in `test_passing_time.py`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connections

from lifecycle import Deadline, Lifecycle, Timeout, Transition
from tests.cases.models.passing_time import Loan

S = Loan.Status


class LoanLifecycle(Lifecycle[Loan]):
    class Meta:
        model = Loan
        name = "loans"
        initial = S.LENT
        final = [S.BACK]

    remind = Transition(S.LENT, S.LATE, manual=False)
    give_back = Transition([S.LENT, S.LATE], S.BACK)
    lend_again = Transition(S.LATE, S.LENT)

    on_date = Deadline(remind, when=S.LENT, at="due_at")
    in_the_end = Timeout(give_back, when=S.LATE, after=timedelta(days=1))

    @remind.guard
    @give_back.guard
    def can_be_decided(self, ctx: Any) -> bool:
        if ctx.record.title == "poison":
            with connections[ctx.using].cursor() as cursor:
                cursor.execute("SELECT * FROM a_table_that_is_not_there")
        return True
