"""Small things of the interface."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.db import connection

from lifecycle import SYSTEM
from lifecycle.exceptions import Conflict, UnsavedEdits
from lifecycle.execution.drain import drain
from lifecycle.models import EffectRun
from lifecycle.models.writes import bypass
from lifecycle.runtime import create, fire, fire_many, touch
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.cases.models.folders import Folder
from tests.desk import lifecycles as desk
from tests.desk.models import Parcel

pytestmark = pytest.mark.django_db


@pytest.mark.row("K1")
@pytest.mark.parametrize("part", [slice(0, 2), slice(1, 3), slice(2, None)])
def test_a_sliced_queryset_fires_just_the_rows_of_the_slice(part: slice) -> None:
    for slug in "abcd":
        create(Folder(slug=slug, title=slug), actor=SYSTEM)

    report = fire_many(Folder.objects.order_by("-title")[part], "take", actor=SYSTEM)

    assert {one.record.pk for one in report.fired} == set("dcba"[part])
    assert set(Folder.objects.filter(status="desk").values_list("pk", flat=True)) == set("dcba"[part])


@pytest.mark.row("K2")
def test_a_uuid_given_as_text_names_the_record_once() -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    held = Parcel.objects.get()
    held.pk = str(parcel.pk)  # type: ignore[assignment]

    report = fire_many([held], "send", actor=SYSTEM)

    assert (len(report.fired), report.refused) == (1, [])
    assert Parcel.objects.get().status == held.status == "labelling"


@pytest.mark.row("K3")
def test_two_instances_of_one_row_are_both_brought_up_to_date() -> None:
    one, two = create(Folder(slug="a"), actor=SYSTEM), Folder.objects.get()

    report = fire_many([one, two], "take", actor=SYSTEM)

    assert len(report.fired) == 1
    assert (one.status, two.status) == ("desk", "desk")


def settings_of(table: str) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT option_name, option_value FROM pg_class, pg_options_to_table(reloptions) WHERE oid = %s::regclass",
            [table],
        )
        return dict(cursor.fetchall())


@pytest.mark.row("K21")
@pytest.mark.postgres
def test_postgresql_vacuums_the_runs_long_before_a_fifth_of_them_is_dead() -> None:
    runs, entries = settings_of("lifecycle_effectrun"), settings_of("lifecycle_transitionlog")

    assert float(runs["autovacuum_vacuum_scale_factor"]) <= 0.02
    assert int(runs["fillfactor"]) < 100
    assert float(entries["autovacuum_vacuum_insert_scale_factor"]) < 0.2
    assert "fillfactor" not in entries  # nothing is ever changed there


@pytest.mark.row("K21")
@pytest.mark.postgres
def test_an_administrators_own_table_settings_outlive_ours() -> None:
    migration = import_module("lifecycle.migrations.0004_settings_for_postgresql")
    given = settings_of("lifecycle_effectrun")
    with connection.schema_editor(atomic=False) as editor:
        migration.take_back(None, editor)
        assert settings_of("lifecycle_effectrun") == {}
        editor.execute("ALTER TABLE lifecycle_effectrun SET (fillfactor = 70)")
        migration.give(None, editor)
        assert settings_of("lifecycle_effectrun") == {**given, "fillfactor": "70"}
        migration.take_back(None, editor)
        assert settings_of("lifecycle_effectrun") == {"fillfactor": "70"}


@pytest.mark.row("K22")
def test_a_plain_edit_makes_decisions_on_the_record_as_it_was_stale() -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    seen = folder.lifecycle.version
    folder.title = "another"
    folder.save()

    touched = folder.lifecycle.touch(actor=SYSTEM, reason="title corrected")

    with pytest.raises(Conflict, match="handled by someone else"):
        fire(Folder.objects.get(), "take", actor=SYSTEM, expect_version=seen)
    row = Folder.objects.get()
    assert (row.status, row.title, row.lifecycle_version, folder.lifecycle_version) == ("shelf", "another", 2, 2)
    assert touched.entry is not None
    assert (touched.entry.transition, touched.entry.source, touched.entry.target) == ("$touch", "shelf", "shelf")
    assert (touched.entry.version, touched.entry.reason, list(touched.runs)) == (2, "title corrected", [])
    fire(folder, "take", actor=SYSTEM, expect_version=2)


@pytest.mark.row("K22")
def test_an_edit_that_is_not_saved_is_not_touched_away() -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    folder.title = "another"

    with pytest.raises(UnsavedEdits):
        touch(folder, actor=SYSTEM)

    assert (folder.title, Folder.objects.get().lifecycle_version) == ("another", 1)


@pytest.mark.row("K22")
@pytest.mark.parametrize("raised", [False, True])
def test_touching_ends_no_stay_nor_does_a_number_that_an_import_raised(
    raised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)

    def meanwhile(ctx: Any) -> dict[str, Any]:
        touch(Parcel.objects.get(), actor=SYSTEM)
        if raised:
            with bypass("an import"):
                Parcel.objects.update(lifecycle_version=9)
        return {"label": "L"}

    monkeypatch.setitem(desk.behaviours, "print_label", meanwhile)
    drain()

    run = EffectRun.objects.get()
    assert (run.stay_version, run.follow_up, Parcel.objects.get().status) == (2, "applied", "sent")


@pytest.mark.row("K22")
def test_touching_lets_a_timeout_fire_when_it_would_have_fired() -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    fire(folder, "take", actor=SYSTEM)
    with travel(minutes=40):
        touch(folder, actor=SYSTEM)
    with travel(minutes=61):
        tick(force=True)

    assert Folder.objects.get().status == "shelf"
