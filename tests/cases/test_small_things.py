"""Small things of the interface."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.db.models.signals import post_save
from django.test.utils import CaptureQueriesContext

from lifecycle import ANY, ANY_EXCEPT, SYSTEM, afire_many, bypass, register_guard
from lifecycle.exceptions import Conflict, UnsavedEdits
from lifecycle.execution.drain import drain
from lifecycle.models import Run
from lifecycle.runtime import create, fire, fire_many, touch
from lifecycle.runtime.deciding import added_guards
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.cases.lifecycles import small_things as lifecycles
from tests.cases.models.folders import Folder
from tests.cases.models.small_things import Leaflet
from tests.support import lifecycles as support
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db


@pytest.mark.row("K1")
@pytest.mark.parametrize("part", [slice(0, 2), slice(1, 3), slice(2, None)])
def test_a_sliced_queryset_fires_just_the_rows_of_the_slice(part: slice) -> None:
    for slug in "abcd":
        create(Folder(slug=slug, title=slug), actor=SYSTEM)

    report = fire_many(Folder.objects.order_by("-title")[part], "take", actor=SYSTEM)

    assert {one.record.pk for one in report.fired} == set("dcba"[part])
    assert set(Folder.objects.filter(status="table").values_list("pk", flat=True)) == set("dcba"[part])


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
    assert (one.status, two.status) == ("table", "table")


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
    runs, entries = settings_of("lifecycle_run"), settings_of("lifecycle_transitionlog")

    assert float(runs["autovacuum_vacuum_scale_factor"]) <= 0.02
    assert int(runs["fillfactor"]) < 100
    assert float(entries["autovacuum_vacuum_insert_scale_factor"]) < 0.2
    assert "fillfactor" not in entries  # nothing is ever changed there


@pytest.mark.row("K21")
@pytest.mark.postgres
def test_an_administrators_own_table_settings_outlive_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    migration = import_module("lifecycle.migrations.0004_settings_for_postgresql")
    # The tables of runs have another name since.
    present = {"lifecycle_run": migration.BUSY, "lifecycle_transitionlog": migration.GROWING}
    monkeypatch.setattr(migration, "SETTINGS", present)
    given = settings_of("lifecycle_run")
    with connection.schema_editor(atomic=False) as editor:
        migration.take_back(None, editor)
        assert settings_of("lifecycle_run") == {}
        editor.execute("ALTER TABLE lifecycle_run SET (fillfactor = 70)")
        migration.give(None, editor)
        assert settings_of("lifecycle_run") == {**given, "fillfactor": "70"}
        migration.take_back(None, editor)
        assert settings_of("lifecycle_run") == {"fillfactor": "70"}


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

    monkeypatch.setitem(support.behaviours, "print_label", meanwhile)
    drain()

    run = Run.objects.get()
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


@pytest.fixture
def leaflets() -> list[Leaflet]:
    lifecycles.hooked.clear()
    return [create(Leaflet(number=number), actor=SYSTEM) for number in range(100)]


@pytest.mark.row("K4")
def test_a_hook_elsewhere_keeps_no_batch_from_being_written_together(leaflets: list[Leaflet]) -> None:
    with CaptureQueriesContext(connection) as few:
        report = fire_many(leaflets[:99], "send", actor=SYSTEM)

    assert (len(report.fired), lifecycles.hooked) == (99, [])
    assert len(few) <= 9


@pytest.mark.row("K4")
def test_only_records_with_hooks_go_one_by_one(leaflets: list[Leaflet]) -> None:
    fire(leaflets[3], "raise_voice", actor=SYSTEM)

    with CaptureQueriesContext(connection) as few:
        report = fire_many(leaflets, "send", actor=SYSTEM)

    assert lifecycles.hooked == [3, 99]
    assert [one.record.number for one in report.fired] == list(range(100))
    assert {one.status for one in leaflets[:99]} == {"sent"}
    assert leaflets[99].status == "kept"
    assert len(few) <= 30


@pytest.mark.row("K5")
@pytest.mark.parametrize(
    ("named", "guarded"),
    [
        (ANY, {"raise_voice", "hush", "send"}),
        ("*", {"raise_voice", "hush", "send"}),
        (ANY_EXCEPT("hush"), {"raise_voice", "send"}),
        (ANY_EXCEPT(lifecycles.LeafletLifecycle.send), {"raise_voice", "hush"}),
        (lifecycles.LeafletLifecycle.send, {"send"}),
        ([lifecycles.LeafletLifecycle.send, "hush"], {"send", "hush"}),
        ("send", {"send"}),
    ],
)
def test_a_guard_is_added_to_whatever_names_transitions(named: Any, guarded: set[str]) -> None:
    take_away = register_guard("leaflets", named, lambda ctx: False)
    try:
        names = ("raise_voice", "hush", "send")
        assert {name for name in names if added_guards.of("leaflets", name)} == guarded
    finally:
        take_away()


@pytest.mark.row("K5")
@pytest.mark.parametrize("named", [5, None, [5], [None, "send"], object()])
def test_what_names_no_transition_is_refused_with_what_would(named: Any) -> None:
    with pytest.raises(TypeError, match="register_guard: expected transitions of 'leaflets'"):
        register_guard("leaflets", named, lambda ctx: False)


@pytest.mark.row("K6")
def test_the_way_round_a_lifecycle_is_imported_from_the_library() -> None:
    record = create(Leaflet(), actor=SYSTEM)
    with bypass("a test of the way round"):
        record.status = "sent"
        record.save()

    assert Leaflet.objects.get().status == "sent"


@pytest.mark.row("K10")
@pytest.mark.django_db(transaction=True)
def test_batches_and_what_is_available_can_be_awaited() -> None:
    one = create(Leaflet(), actor=SYSTEM)

    async def ask() -> tuple[list[str], int, int]:
        names = [option.name for option in await one.lifecycle.aavailable(actor=SYSTEM)]
        fired = await afire_many([one], "raise_voice", actor=SYSTEM)
        again = await afire_many(Leaflet.objects.all(), "hush", actor=SYSTEM, batch_size=1)
        return names, len(fired.fired), len(again.fired)

    assert async_to_sync(ask)() == (["raise_voice", "send"], 1, 1)


@pytest.mark.row("K14")
@pytest.mark.parametrize("many", [False, True])
def test_a_transition_is_no_save(many: bool) -> None:
    record = create(Leaflet(), actor=SYSTEM)
    saved: list[Any] = []

    def note(sender: Any, instance: Any, **kwargs: Any) -> None:
        saved.append(instance)

    post_save.connect(note, sender=Leaflet)
    try:
        if many:
            fire_many([record], "send", actor=SYSTEM)
        else:
            fire(record, "send", actor=SYSTEM)
        assert saved == []
        create(Leaflet(), actor=SYSTEM)
        assert len(saved) == 1
    finally:
        post_save.disconnect(note, sender=Leaflet)


@pytest.mark.row("K14")
def test_the_page_on_projects_says_what_transitions_do_not_send_and_who_finds_hidden_rows() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/fit-into-a-project.md").read_text()

    for word in ("post_save", "simple-history", "auditlog", "reversion", "base_manager_name"):
        assert word in page
