"""The second database of the suite is one: what is written there is nowhere else, and gone afterwards."""

from __future__ import annotations

import pytest

from lifecycle import SYSTEM
from lifecycle.models import TransitionLog
from lifecycle.runtime import create
from lifecycle.store import aliases
from tests.support.models import Parcel


@pytest.mark.parametrize("time", ["once", "again"])
def test_the_other_database_holds_what_was_written_to_it_alone_and_begins_empty(other: str, time: str) -> None:
    assert not Parcel.objects.using(other).exists()

    create(Parcel(), actor=SYSTEM, using=other)

    assert (Parcel.objects.using(other).count(), TransitionLog.objects.using(other).count()) == (1, 1)
    assert not Parcel.objects.using("default").exists()
    assert aliases.with_our_tables() == ["default", "other"]
