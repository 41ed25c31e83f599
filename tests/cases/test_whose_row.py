"""Whose row, on which database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections

from lifecycle import SYSTEM
from lifecycle.execution import connecting
from lifecycle.execution.drain import drain
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create, fire, fire_many
from lifecycle.store import records
from lifecycle.store.record_keys import RecordKey
from tests.cases.models.folders import Folder

ALIASES = ("default", "other")


@pytest.fixture
def twins(other: str) -> dict[str, Folder]:
    """Two rows of one key, each on its own database."""
    return {using: create(Folder(slug="a", title=using), actor=SYSTEM, using=using) for using in ALIASES}


@pytest.fixture
def away(other: str) -> Iterator[str]:
    """An alias whose database cannot be reached."""
    sqlite = {"ENGINE": "django.db.backends.sqlite3", "NAME": "/nowhere/at/all.sqlite3", "OPTIONS": {"timeout": 1}}
    connections.databases["away"] = {**connections.databases[other], **sqlite}
    yield "away"
    connections["away"].close()
    del connections["away"]
    del connections.databases["away"]


def states() -> dict[str, str]:
    return {using: Folder.objects.using(using).get(pk="a").status for using in ALIASES}


GIVEN = {
    "a queryset": lambda using: Folder.objects.using(using).filter(title=using),
    "a slice": lambda using: Folder.objects.using(using).order_by("title")[:1],
    "instances": lambda using: [Folder.objects.using(using).get(pk="a")],
    "a generator": lambda using: (row for row in Folder.objects.using(using).all()),
}


@pytest.mark.row("B1")
@pytest.mark.parametrize("using", ALIASES)
@pytest.mark.parametrize("given", GIVEN)
def test_a_batch_fires_the_rows_of_the_database_they_are_from(twins: Any, using: str, given: str) -> None:
    report = fire_many(GIVEN[given](using), "take", actor=SYSTEM)

    elsewhere = next(alias for alias in ALIASES if alias != using)
    assert states() == {using: "table", elsewhere: "shelf"}
    assert [(one.record._state.db, one.entry.version) for one in report.fired if one.entry] == [(using, 2)]
    assert TransitionLog.objects.using(elsewhere).count() == 1


@pytest.mark.row("B1")
def test_instances_of_two_databases_are_each_fired_on_their_own(twins: dict[str, Folder]) -> None:
    report = fire_many(list(twins.values()), "take", actor=SYSTEM)

    assert len(report.fired) == 2
    assert states() == {"default": "table", "other": "table"}
    assert [folder.status for folder in twins.values()] == ["table", "table"]


@pytest.mark.row("B1")
def test_every_verb_of_a_record_stays_on_its_database(twins: dict[str, Folder]) -> None:
    folder = twins["other"]

    fire(folder, "take", actor=SYSTEM)

    assert states() == {"default": "shelf", "other": "table"}
    assert folder.lifecycle.can("put_back", actor=SYSTEM).allowed
    assert [entry.transition for entry in folder.lifecycle.history] == ["$create", "take"]
    assert [run.effect for run in folder.lifecycle.runs] == ["scan"]
    assert folder.lifecycle.view(actor=SYSTEM).version == 2
    assert list(twins["default"].lifecycle.runs) == []


@pytest.mark.row("K7")
def test_a_creation_looks_for_uniqueness_where_the_record_will_be(other: str) -> None:
    create(Folder(slug="a"), actor=SYSTEM)

    create(Folder(slug="a"), actor=SYSTEM, using=other)

    assert [Folder.objects.using(using).count() for using in ALIASES] == [1, 1]


# ---------------------------------------------------------------------------------------------- which database is next


def enqueue(using: str, number: int) -> None:
    for index in range(number):
        fire(create(Folder(slug=f"{using}{index}"), actor=SYSTEM, using=using), "take", actor=SYSTEM)


def done(using: str) -> int:
    return Run.objects.using(using).filter(status="succeeded").count()


@pytest.mark.row("B2")
@pytest.mark.parametrize(("most", "least"), [ALIASES, ALIASES[::-1]])
def test_a_database_with_much_work_leaves_another_its_share(other: str, most: str, least: str) -> None:
    enqueue(most, 8)
    enqueue(least, 1)

    report = drain(runs=4)

    assert (report.done, report.more) == (4, True)
    assert (done(most), done(least)) == (3, 1), "what one does not need is the other's"
    assert drain().done == 5


@pytest.mark.row("B2")
def test_another_database_is_the_first_each_time(other: str) -> None:
    for using in ALIASES:
        enqueue(using, 2)

    drain(runs=1)
    drain(runs=1)

    assert [done(using) for using in ALIASES] == [1, 1]


@pytest.mark.row("B2")
def test_a_database_that_does_not_answer_does_not_stop_the_others(other: str, away: str) -> None:
    enqueue(other, 3)
    began = time.monotonic()

    for _ in range(2):  # whichever is the first
        report = drain(using=[away, other])

    assert (done(other), report.more) == (3, False)
    assert time.monotonic() - began < 10, "nor is it waited for as long as the budget lasts"


@pytest.mark.row("B1", "C1")
@pytest.mark.django_db
@pytest.mark.parametrize("request_id", [None, "key"])
def test_which_record_is_meant_is_worked_out_once_in_a_firing(
    request_id: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    made: list[Any] = []
    of = RecordKey.of

    def counted(definition: Any, record_or_pk: Any, using: str) -> RecordKey:
        made.append(record_or_pk)
        return of(definition, record_or_pk, using)

    monkeypatch.setattr(RecordKey, "of", counted)
    monkeypatch.setattr(records, "text_id", lambda record: made.append(record) or str(record))

    fire(folder, "take", actor=SYSTEM, request_id=request_id)

    assert made == ["a"]


@pytest.mark.row("B2")
def test_a_drain_shares_its_budget_among_the_databases(other: str) -> None:
    for using, number in (("default", 30), (other, 1)):
        for place in range(number):
            fire(create(Folder(slug=f"{place}"), actor=SYSTEM, using=using), "take", actor=SYSTEM)

    for _ in range(2):
        drain(runs=12)

    assert not Run.objects.using(other).filter(status="queued").exists()
    assert Run.objects.filter(status="queued").count() == 30 + 1 - 24


@pytest.mark.row("B2")
def test_a_database_that_does_not_answer_keeps_no_other_waiting(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM, using=other)
    fire(folder, "take", actor=SYSTEM)
    waited: list[int] = []
    monkeypatch.setattr(connecting, "pause", lambda failures, stop: waited.append(failures))
    broken = {**connection.settings_dict, "HOST": "127.0.0.1", "PORT": "1", "NAME": "/nowhere/at/all"}

    connection.close()
    monkeypatch.setattr(connections["default"], "settings_dict", broken)
    try:
        for _ in range(2):  # each is first once
            drain(seconds=0.5, runs=1)
            if not waited:
                continue
    finally:
        connections["default"].close()
        monkeypatch.undo()

    assert Folder.objects.using(other).get().status == "filed"
