"""One connection per drain: connecting anew for every run would cost more than the runs."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.backends.signals import connection_created

from lifecycle import SYSTEM
from lifecycle.execution.drain import drain
from lifecycle.runtime import create, fire
from tests.support.models import Parcel


@pytest.mark.django_db(transaction=True)
def test_a_drain_keeps_its_connection_between_runs_although_requests_would_not() -> None:
    """celery/celery #10554, PR #10555: the pool was closed after every task."""
    assert connection.settings_dict["CONN_MAX_AGE"] == 0
    for _ in range(5):
        fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM)
    opened: list[Any] = []

    def note(**kwargs: Any) -> None:
        opened.append(kwargs["connection"])

    connection_created.connect(note)
    try:
        assert drain().done == 5
    finally:
        connection_created.disconnect(note)
    assert opened == []
    assert connection.close_at is not None, "the request's own rule holds again"
