"""NewestFirst: cursor pagination of history and runs."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from lifecycle.exceptions import InvalidInput
from lifecycle.refusals import InputProblem


class NewestFirst(CursorPagination):
    """A page by id: stable while rows are added, and as cheap on page 1000 as on page 1."""

    ordering = "-id"
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def get_page_size(self, request: Request) -> int | None:
        """Rows per page; DRF takes the default for a number that is none, and this says so.

        Raises:
            InvalidInput: it is not a whole number from 1.
        """
        name = self.page_size_query_param
        given = request.query_params.get(name) if name else None
        if given is not None and not re.fullmatch(r"0*[1-9][0-9]{0,8}", given):
            message = _("Expected a whole number from 1, got %(given)s.") % {"given": f"'{given:.40}'"}
            problem = InputProblem(field=str(name), code="invalid", message=message)
            raise InvalidInput(str(problem), problems=[problem])
        size: int | None = super().get_page_size(request)
        return size

    def decode_cursor(self, request: Request) -> Any:
        """The cursor; one that was tampered with is not found rather than an error of the database."""
        cursor: Cursor | None = super().decode_cursor(request)
        position = str(cursor.position) if cursor is not None and cursor.position is not None else "0"
        if not (position.isascii() and position.isdigit() and len(position) < 19):
            raise NotFound(self.invalid_cursor_message)
        return cursor
