"""A project of one's own: its type checker, its tables, its deployment."""

from __future__ import annotations

import re
import sys
import tomllib
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection, models
from django.db.models.expressions import RawSQL
from django.test.utils import CaptureQueriesContext, isolate_apps

from hatch_build import described, urls
from lifecycle import (
    SYSTEM,
    Conflict,
    StateWriteRefused,
    UnknownLifecycle,
    available,
    can,
    create,
    dispatch,
    fire,
    fire_many,
    registry,
    view,
)
from lifecycle.checks.ids import TAG
from lifecycle.definition.parameters import InvalidParameter
from lifecycle.dispatch.celery import CeleryDispatcher
from lifecycle.dispatch.none import NoDispatcher
from lifecycle.exceptions import InvalidDefinition
from lifecycle.models import LifecycleModel, ParameterOverride, StateField
from lifecycle.models.writes import bypass
from lifecycle.operations import reset_parameter, set_parameter
from lifecycle.runtime import parameters
from lifecycle.store import adoption
from lifecycle.testing import assert_history
from tests.cases.lifecycles.own_projects import CrateLifecycle
from tests.cases.models.own_projects import Crate
from tests.columns.models import OldTable
from tests.definition.test_rules import form_with_a_file
from tests.support.lifecycles import TicketLifecycle
from tests.support.models import Ticket

ROOT = Path(__file__).resolve().parent.parent.parent


# Naming a lifecycle --------------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.row("L9")
@pytest.mark.parametrize("said", ["tickets", TicketLifecycle, TicketLifecycle.definition])
def test_every_verb_takes_a_lifecycle_by_its_name(said: Any) -> None:
    ticket = create(Ticket(title="Lamp"), actor=SYSTEM, lifecycle=said)

    assert can(ticket, "ask", actor=SYSTEM, lifecycle=said).allowed
    assert [one.name for one in available(ticket, actor=SYSTEM, lifecycle=said)]
    assert view(ticket, actor=SYSTEM, lifecycle=said).version == 1
    assert parameters(said) == TicketLifecycle.Parameters()
    assert fire(ticket, "ask", actor=SYSTEM, lifecycle=said).record.lifecycle_version == 2
    assert len(fire_many([ticket], "reply", actor=SYSTEM, lifecycle=said).fired) == 1
    assert_history(ticket, ["$create", "ask", "reply"], lifecycle=said)


@pytest.mark.django_db
@pytest.mark.row("L9")
def test_a_viewset_and_its_filters_take_a_name_too() -> None:
    from rest_framework.test import APIRequestFactory, force_authenticate
    from rest_framework.viewsets import ReadOnlyModelViewSet

    from lifecycle.rest import LifecycleFilterSet, LifecycleViewSetMixin

    class Filters(LifecycleFilterSet):
        lifecycle = "tickets"

        class Meta:
            model = Ticket
            fields: list[str] = []

    class Named(LifecycleViewSetMixin, ReadOnlyModelViewSet):  # type: ignore[type-arg]
        lifecycle = "tickets"
        queryset = Ticket.objects.all()
        filterset_class = Filters

    request = APIRequestFactory().get("/")
    force_authenticate(request, User(is_superuser=True))
    answer = Named.as_view({"get": "lifecycle_definition"})(request)
    assert (answer.status_code, answer.data["name"]) == (200, "tickets")
    assert [value for value, _ in Filters.get_filters()["state"].extra["choices"]] == list(Ticket.Status.values)


@pytest.mark.row("L9")
def test_a_name_that_no_lifecycle_has_is_told_the_nearest() -> None:
    with pytest.raises(UnknownLifecycle, match=r"No lifecycle is named 'tickts'\. Did you mean 'tickets'\?"):
        create(Ticket(title="Lamp"), actor=SYSTEM, lifecycle="tickts")


@pytest.mark.django_db
@pytest.mark.row("L8")
@pytest.mark.parametrize("said", ["tickets", TicketLifecycle, Ticket, TicketLifecycle.definition, "a record"])
def test_a_parameter_is_set_by_class_name_or_record_and_by_a_python_value(said: Any) -> None:
    if said == "a record":
        said = create(Ticket(title="Lamp"), actor=SYSTEM)

    set_parameter(said, "patience", timedelta(hours=3), actor=SYSTEM, expected=timedelta(days=2))

    assert ParameterOverride.objects.get().value == "P0DT03H00M00S"
    assert parameters(said).patience == timedelta(hours=3)
    with pytest.raises(Conflict):
        set_parameter(said, "patience", timedelta(hours=4), actor=SYSTEM, expected=timedelta(hours=2))
    with pytest.raises(InvalidParameter, match=r"'patience' of lifecycle 'tickets': .* is no duration"):
        set_parameter(said, "patience", object(), actor=SYSTEM)
    reset_parameter(said, "patience", actor=SYSTEM)
    assert parameters(said).patience == timedelta(days=2)


@pytest.mark.django_db
@pytest.mark.row("L8")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("price", Decimal("19.90")),
        ("day", date(2026, 5, 1)),
        ("moment", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("hour", time(8, 30)),
        ("mark", UUID(int=7)),
        ("state", Crate.Status.SENT),
        ("steps", (timedelta(minutes=1), timedelta(minutes=5))),
        ("least", None),
    ],
)
def test_a_parameter_of_any_type_takes_what_its_own_reading_gives(name: str, value: Any) -> None:
    made = set_parameter(CrateLifecycle, name, value, actor=SYSTEM)
    set_parameter(CrateLifecycle, name, value, actor=SYSTEM, expected=value)

    assert getattr(made, name) == value == getattr(parameters(CrateLifecycle), name)


# Adopting a table ----------------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.row("L4")
def test_an_insert_that_knows_no_lifecycle_is_taken_and_adopted_later() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO columns_oldtable (phase) VALUES ('paid')")
    record = OldTable.objects.get()
    assert (record.revision, record.moved_at) == (0, None)

    call_command("lifecycle_adopt", "columns_old", stdout=StringIO(), stderr=StringIO())

    record.refresh_from_db()
    assert record.lifecycle.fire("ship", actor=SYSTEM).record.revision == 1
    assert_history(record, ["$adopt", "ship"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("L4")
@isolate_apps("tests.cases")
def test_a_column_added_to_a_table_with_rows_has_its_default_in_the_database() -> None:
    class Before(models.Model):
        id = models.IntegerField(primary_key=True)
        status = models.CharField(max_length=63)

        class Meta:
            app_label = "cases"
            db_table = "cases_lease"

    class Lease(LifecycleModel):
        status = StateField([("new", "New")])

        class Meta:
            app_label = "cases"
            db_table = "cases_lease"

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE cases_lease (id integer PRIMARY KEY, status varchar(63) NOT NULL)")
        cursor.execute("INSERT INTO cases_lease (id, status) VALUES (1, 'new')")
    try:
        with connection.schema_editor() as editor:
            editor.add_field(Before, Lease._meta.get_field("lifecycle_version"))
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO cases_lease (id, status) VALUES (2, 'new')")
            cursor.execute("SELECT id, lifecycle_version FROM cases_lease ORDER BY id")
            assert list(cursor.fetchall()) == [(1, 0), (2, 0)]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE cases_lease")


@pytest.mark.row("L4")
def test_columns_of_the_library_are_djangos_own_in_migrations() -> None:
    written = {name: OldTable._meta.get_field(name).deconstruct()[1:] for name in ("phase", "moved_at", "revision")}
    assert written["revision"][0] == "django.db.models.PositiveBigIntegerField"
    assert written["revision"][2].items() >= {"default": 0, "db_default": RawSQL("0", [])}.items()
    assert all(path.startswith("django.db.models.") for path, *_ in written.values())


# Optional packages ---------------------------------------------------------------------------------------------------


@pytest.mark.row("L12")
def test_without_celery_nobody_is_woken_and_nothing_needs_to_be_said(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LIFECYCLE = {}
    assert isinstance(dispatch.current(), CeleryDispatcher)
    monkeypatch.setitem(sys.modules, "celery", None)
    settings.LIFECYCLE = {}
    assert isinstance(dispatch.current(), NoDispatcher)
    assert [one for one in run_checks(tags=[TAG]) if one.id == "lifecycle.E131"] == []


@pytest.mark.once
@pytest.mark.row("K20")
def test_every_optional_package_that_the_pages_use_has_an_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    asked = {
        extra for page in pages for found in re.findall(r"record-lifecycle\[([\w,]+)\]", page.read_text())
        for extra in found.split(",")
    }  # fmt: skip
    assert {"celery", "redis", "postgres"} <= asked <= set(extras)
    assert extras["redis"][0].startswith("celery[redis]")
    shows_redis = [page for page in pages if "redis://" in page.read_text()]
    assert shows_redis
    assert [page for page in shows_redis if ",redis" not in page.read_text()] == []


# Round trips ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def aged() -> Ticket:
    """A record whose time has microseconds of all sizes."""
    ticket = create(Ticket(title="Lamp"), actor=SYSTEM)
    Ticket.objects.filter(pk=ticket.pk).update(note="n")
    with bypass("an exact time"):
        ticket.status_changed_at = datetime(2026, 5, 1, 12, 30, 15, 123456, tzinfo=UTC)
        ticket.save()
    return Ticket.objects.get()


@pytest.mark.django_db
@pytest.mark.row("K13")
@pytest.mark.parametrize("microsecond", [123456, 123000, 0])
def test_a_time_that_came_back_without_its_microseconds_is_no_change(aged: Ticket, microsecond: int) -> None:
    exact = aged.status_changed_at
    assert exact is not None
    aged.status_changed_at, aged.note = exact.replace(microsecond=microsecond), "imported"

    aged.save()

    assert aged.status_changed_at == exact
    aged.lifecycle.fire("ask", actor=SYSTEM)
    aged = Ticket.objects.get()
    assert (aged.note, aged.lifecycle_version) == ("imported", 2)


@pytest.mark.django_db
@pytest.mark.row("K13")
def test_another_time_is_still_refused(aged: Ticket) -> None:
    assert aged.status_changed_at is not None
    for other in (
        aged.status_changed_at + timedelta(seconds=1),
        aged.status_changed_at.replace(microsecond=5000),
        None,
    ):
        aged.status_changed_at = other
        with pytest.raises(StateWriteRefused):
            aged.save()


@pytest.mark.django_db
@pytest.mark.row("K13")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_a_table_exported_and_imported_again_keeps_its_owned_columns(aged: Ticket, settings: Any, zone: str) -> None:
    resources = pytest.importorskip("import_export.resources", reason="make setup brings django-import-export")
    settings.TIME_ZONE = zone
    before = Ticket.objects.values().get()
    resource = resources.modelresource_factory(Ticket)()
    table = resource.export()
    assert "2026-05-01" in table.csv
    assert "123456" not in table.csv

    result = resource.import_data(table, raise_errors=True)

    assert (result.has_errors(), result.totals["new"]) == (False, 0)
    assert Ticket.objects.values().get() == before


# Time zones ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("L1")
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "UTC"])
def test_a_project_without_time_zones_is_refused_before_it_runs(settings: Any, zone: str) -> None:
    assert "lifecycle.E122" not in [message.id for message in run_checks(tags=[TAG])]
    settings.USE_TZ, settings.TIME_ZONE = False, zone

    said = [str(message.msg) for message in run_checks(tags=[TAG]) if message.id == "lifecycle.E122"]

    assert said == [
        "settings.USE_TZ is False: Django would store local times, and lifecycle compares due times in UTC."
    ]


@pytest.mark.row("L1")
def test_a_database_that_keeps_local_times_is_refused_where_its_columns_know_no_zone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(connection.settings_dict, "TIME_ZONE", "Asia/Tokyo")

    said = [message.id for message in run_checks(tags=[TAG]) if message.id == "lifecycle.E122"]

    assert said == ([] if connection.vendor == "postgresql" else ["lifecycle.E122"])


# Adopting a large table ----------------------------------------------------------------------------------------------


def old_rows(how_many: int) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO columns_oldtable (phase, revision) VALUES (%s, 0)", [("new",) for _ in range(how_many)]
        )


@pytest.mark.django_db
@pytest.mark.row("L5")
def test_adopting_walks_the_keys_and_goes_on_after_the_last() -> None:
    definition = registry.get("columns_old")
    old_rows(7)
    keys = list(OldTable.objects.order_by("pk").values_list("pk", flat=True))
    first = adoption.adopt(definition, 3, "default")
    again = adoption.adopt(definition, 5, "default")
    last = adoption.adopt(definition, 5, "default", after=keys[4])

    assert first is not None
    assert again is not None
    assert last is not None
    assert [(one.adopted, one.last) for one in (first, again, last)] == [(3, keys[2]), (2, keys[4]), (2, keys[6])]
    assert adoption.adopt(definition, 5, "default", after=keys[6]) is None


@pytest.mark.postgres
@pytest.mark.django_db
@pytest.mark.row("L5")
def test_adopting_a_table_that_was_never_analysed_reads_no_more_than_a_batch() -> None:
    definition = registry.get("columns_old")
    old_rows(3000)
    first = adoption.adopt(definition, 1500, "default")
    assert first is not None

    with CaptureQueriesContext(connection) as statements:
        adoption.adopt(definition, 100, "default", after=first.last)
    walk = statements.captured_queries[0]["sql"]
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, FORMAT TEXT) " + walk)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "Sort" not in plan, plan
    assert "Seq Scan" not in plan, plan
    assert "lifecycle_entry_version" in plan, plan


@pytest.mark.row("L3")
@pytest.mark.once
def test_a_form_that_asks_for_a_file_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(InvalidDefinition, match="Save the upload to a model of its own first"):
        form_with_a_file()


@pytest.mark.row("L15")
@pytest.mark.once
@pytest.mark.parametrize("address", ["", "https://pages.example/project"])
def test_no_link_of_the_readme_is_dead_where_only_the_readme_is(address: str) -> None:
    text = described((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8"), address)

    links = re.findall(r"\[[^\]]+\]\(([^)\s]+)\)", text)
    assert [link for link in links if not re.match(r"\w+:|#", link)] == []
    assert bool(urls(address)) is bool(address)
