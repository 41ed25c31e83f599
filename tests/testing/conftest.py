"""What the tests of the test kit share."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle import SYSTEM
from lifecycle.runtime import create
from tests.support.models import Parcel, Ticket


@pytest.fixture
def ticket(db: None) -> Ticket:
    return create(Ticket(), actor=SYSTEM)


@pytest.fixture
def parcel(db: None) -> Parcel:
    return create(Parcel(), actor=SYSTEM)


def fired(record: Any, *transitions: str) -> Any:
    """The record after these transitions, fired by the system."""
    for transition in transitions:
        record.lifecycle.fire(transition, actor=SYSTEM)
    return record
