"""Statements: how many a block sends to the database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections
from django.test.utils import CaptureQueriesContext

_CONTROL = re.compile(r"\s*(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b", re.IGNORECASE)


@contextmanager
def assert_statements(number: int, *, using: str = "default") -> Iterator[list[str]]:
    """The block sends exactly so many statements, those that only control the transaction not counted.

    Yields:
        A list that holds the statements once the block has ended.
    """
    sent: list[str] = []
    with CaptureQueriesContext(connections[using]) as captured:
        yield sent
    sent += [query["sql"] for query in captured.captured_queries if not _CONTROL.match(query["sql"])]
    if len(sent) != number:
        listed = "\n".join(f"{index}. {sql}" for index, sql in enumerate(sent, 1))
        raise AssertionError(f"Expected {number} statements, got {len(sent)}:\n{listed}")
