"""Pages: history and runs, newest first, by cursor."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request


class NewestFirst(CursorPagination):
    """A page by id: stable while rows are added, and as cheap on page 1000 as on page 1."""

    ordering = "-id"
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def decode_cursor(self, request: Request) -> Any:
        """The cursor; one that was tampered with is not found rather than an error of the database."""
        cursor: Cursor | None = super().decode_cursor(request)
        position = str(cursor.position) if cursor is not None and cursor.position is not None else "0"
        if not (position.isascii() and position.isdigit() and len(position) < 19):
            raise NotFound(self.invalid_cursor_message)
        return cursor
