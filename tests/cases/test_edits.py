"""Edits and computed columns: what an instance holds is compared with the locked row, and never lost without a word."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat

from lifecycle import SYSTEM
from lifecycle.exceptions import RecordNotFound, UnsavedEdits
from lifecycle.runtime import create, fire, fire_many
from tests.cases.lifecycles import edits as lifecycles
from tests.cases.models.edits import Computed, Counted, Joined
from tests.cases.models.folders import Folder

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder() -> Folder:
    return create(Folder(slug="a", title="old", labels=["x", {"deep": [1]}]), actor=SYSTEM)


def assigned(folder: Folder) -> None:
    folder.title = "new"


def appended(folder: Folder) -> None:
    folder.labels.append("y")


def changed_deep_inside(folder: Folder) -> None:
    folder.labels[1]["deep"].append(2)


EDITS = [assigned, appended, changed_deep_inside]
READ = {
    "as created": lambda folder: folder,
    "read": lambda folder: Folder.objects.get(pk=folder.pk),
    "read with a deferred column": lambda folder: Folder.objects.defer("weight").get(pk=folder.pk),
    "refreshed": lambda folder: folder.refresh_from_db() or folder,
    "saved": lambda folder: folder.save() or folder,
    "fired": lambda folder: fire(folder, "take", actor=SYSTEM).record,
}


@pytest.mark.row("F1", "F2")
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("come", READ)
@pytest.mark.parametrize("many", [False, True])
def test_an_unsaved_edit_is_refused_however_the_instance_came_to_be(
    folder: Folder, edit: Any, come: str, many: bool
) -> None:
    held = READ[come](folder)
    transition = "put_back" if held.status == "table" else "take"
    before = Folder.objects.values().get()
    edit(held)

    if many:
        report = fire_many([held], transition, actor=SYSTEM)
        assert [type(one.error) for one in report.refused] == [UnsavedEdits]
        assert report.fired == []
    else:
        with pytest.raises(UnsavedEdits, match="title|labels"):
            fire(held, transition, actor=SYSTEM)
    assert Folder.objects.values().get() == before


@pytest.mark.row("F2")
def test_a_stale_instance_with_lists_is_no_edited_one(folder: Folder) -> None:
    stale = Folder.objects.get(pk="a")
    Folder.objects.filter(pk="a").update(labels=["changed by somebody else"])

    fire(stale, "take", actor=SYSTEM)

    assert stale.labels == ["changed by somebody else"]


@pytest.mark.row("F1")
def test_one_edited_instance_of_a_batch_keeps_no_other(folder: Folder) -> None:
    other = create(Folder(slug="b"), actor=SYSTEM)
    folder.title = "new"

    report = fire_many([folder, other], "take", actor=SYSTEM)

    assert [one.record.pk for one in report.fired] == ["b"]
    assert [one.record_id for one in report.refused] == ["a"]
    assert (folder.title, folder.status, other.status) == ("new", "shelf", "table")


@pytest.mark.row("F3")
@pytest.mark.parametrize("write", ["bulk_update", "update"])
@pytest.mark.parametrize("many", [False, True])
def test_what_the_row_holds_already_is_no_edit(folder: Folder, write: str, many: bool) -> None:
    folder.title = "new"
    if write == "bulk_update":
        Folder.objects.bulk_update([folder], ["title"])
    else:
        Folder.objects.filter(pk="a").update(title="new")

    if many:
        assert len(fire_many([folder], "take", actor=SYSTEM).fired) == 1
    else:
        fire(folder, "take", actor=SYSTEM)

    assert (folder.title, folder.status) == ("new", "table")


@pytest.mark.row("F4")
def test_an_expression_is_never_to_be_saved_a_second_time(folder: Folder) -> None:
    folder.title = Concat(F("title"), Value("!"))  # type: ignore[assignment]

    with pytest.raises(UnsavedEdits, match="refresh_from_db"):
        fire(folder, "take", actor=SYSTEM)

    folder.save()
    folder.refresh_from_db()
    assert fire(folder, "take", actor=SYSTEM).record.title == "old!"


@pytest.mark.row("F2")
def test_values_that_only_python_can_copy_are_kept_apart_too() -> None:
    from lifecycle.models.loaded import Kept

    value = [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), {1, 2}]
    kept = Kept(value)
    value.append("later")

    assert kept.value() == [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), {1, 2}]


@pytest.mark.row("F5")
@pytest.mark.parametrize("many", [False, True])
def test_generated_columns_are_the_rows_for_hooks_and_callers(many: bool) -> None:
    record = create(Computed(title="a"), actor=SYSTEM)
    assert (record.loud, record.shown) == ("A", "new!")
    lifecycles.seen.clear()

    if many:
        fire_many([record], "finish", actor=SYSTEM, input={"title": "b"})
    else:
        fire(record, "finish", actor=SYSTEM, input={"title": "b"})

    assert (record.loud, record.shown) == ("B", "done!")
    assert lifecycles.seen == [("B", "done!")]
    if many:
        fire_many([record], "again", actor=SYSTEM)
    else:
        fire(record, "again", actor=SYSTEM)
    assert record.shown == "new!"


@pytest.mark.row("F6")
@pytest.mark.parametrize("many", [False, True])
def test_automatic_dates_and_times_are_those_that_saving_would_write(many: bool) -> None:
    record = create(Computed(title="a"), actor=SYSTEM)
    before = Computed.objects.get()

    for transition in ("finish", "again"):
        if many:
            assert len(fire_many([record], transition, actor=SYSTEM).fired) == 1
        else:
            fire(record, transition, actor=SYSTEM)

    after = Computed.objects.get()
    assert after.time != before.time
    assert after.moment == after.status_changed_at
    assert (record.day, record.time, record.moment) == (after.day, after.time, after.moment)


@pytest.mark.row("F6")
def test_an_automatic_date_is_the_fields_own(monkeypatch: pytest.MonkeyPatch) -> None:
    record = create(Computed(title="a"), actor=SYSTEM)
    field = Computed._meta.get_field("day")
    elsewhere = dt.date(2001, 2, 3)  # as in a zone where it is another day
    monkeypatch.setattr(type(field), "pre_save", lambda self, instance, add: elsewhere)

    fire(record, "finish", actor=SYSTEM)

    assert record.day == Computed.objects.get().day == elsewhere


@pytest.mark.row("F7")
@pytest.mark.parametrize("model", [Joined, Counted])
@pytest.mark.parametrize("many", [False, True])
def test_a_base_manager_that_joins_or_counts_keeps_no_row_from_its_lock(model: Any, many: bool) -> None:
    record = create(model(), actor=SYSTEM)

    if many:
        assert len(fire_many([record], "finish", actor=SYSTEM).fired) == 1
    else:
        fire(record, "finish", actor=SYSTEM)

    assert model.objects.get().status == record.status == "done"


@pytest.mark.row("F7")
def test_what_a_base_manager_hides_stays_hidden() -> None:
    record = create(Counted(), actor=SYSTEM)
    Counted.everything.update(title="hidden")
    record.title = "hidden"

    with pytest.raises(RecordNotFound):
        fire(record, "finish", actor=SYSTEM)
    assert len(fire_many([record], "finish", actor=SYSTEM).refused) == 1
