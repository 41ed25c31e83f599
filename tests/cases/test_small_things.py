"""Small things of the interface."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection

from lifecycle import SYSTEM
from lifecycle.runtime import create, fire_many
from tests.cases.models.folders import Folder
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
