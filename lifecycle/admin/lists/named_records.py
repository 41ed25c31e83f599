"""NamedRecordList: a list that names the records its rows are about."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest

from lifecycle.admin.parts import record_names


class NamedRecordList(ChangeList):
    """The list with the records its rows name, looked up together."""

    def get_results(self, request: HttpRequest) -> None:
        """Reads the page, then the records of its rows."""
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        named = record_names.named(rows, request, self.model_admin.admin_site)
        for row in rows:
            row.shown_record = named.get((row.lifecycle, row.record_id))
        self.result_list = rows
