"""RunList: a page of the run list with everything its columns say, in a number of queries that never grows."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest

from lifecycle.admin.parts import record_names
from lifecycle.models import OperatorAction, RunAttempt


class RunList(ChangeList):
    """The list, each row with its record's name, its attempts and who cancelled it."""

    def get_results(self, request: HttpRequest) -> None:
        """Reads the page, then what belongs to its rows."""
        super().get_results(request)
        runs: list[Any] = list(self.result_list)
        named = record_names.named(runs, request, self.model_admin.admin_site)
        ids = [run.pk for run in runs]
        attempts: dict[int, list[RunAttempt]] = {}
        for attempt in RunAttempt.objects.filter(run_id__in=ids).defer("traceback").order_by("id"):
            attempts.setdefault(attempt.run_id, []).append(attempt)
        cancels = {row.run_id: row for row in OperatorAction.objects.filter(run_id__in=ids, action="cancel")}
        for run in runs:
            run.shown_record = named.get((run.lifecycle, run.record_id))
            run.shown_attempts = attempts.get(run.pk, [])
            run.shown_cancel = cancels.get(run.pk)
        self.result_list = runs
