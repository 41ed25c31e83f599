"""Which tables the database guard reaches, whatever they are called and whoever makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import isolate_apps

from lifecycle.checks import databases
from lifecycle.database_guard import Installed, ensure, installation
from lifecycle.doctor import examine, guard, indexes
from lifecycle.models import ChangedAtField, LifecycleModel, StateField, VersionField

LONG = "a_table_whose_name_goes_on_and_on_and_on_until_no_database_would_keep_it"
VIEW = "CREATE VIEW seen_things AS SELECT 1 AS id, 'new' AS status, NULL AS status_changed_at, 1 AS lifecycle_version"
STATES = [("new", "New"), ("done", "Done")]


def sql(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def model_of(table: str, *, managed: bool = True, state: str = "status", name: str = "Thing") -> type[Any]:
    class Meta:
        app_label = "cases"
        db_table = table

    Meta.managed = managed  # type: ignore[attr-defined]
    body = {
        "__module__": __name__,
        "Meta": Meta,
        "status": StateField(STATES, db_column=state),
        "status_changed_at": ChangedAtField(),
        "lifecycle_version": VersionField(),
    }
    return type(name, (LifecycleModel,), body)


@contextmanager
def standing(model: type[Any]) -> Iterator[None]:
    """Its table stands for one test, made by hand: not every name that a database takes gets through Django's SQL."""
    table, state = quoted(model)
    others = "status_changed_at varchar(30), lifecycle_version bigint NOT NULL"
    sql(f"CREATE TABLE {table} (id integer PRIMARY KEY, {state} varchar(63) NOT NULL, {others})")
    try:
        yield
    finally:
        ensure(connection, [])
        sql(f"DROP TABLE {table}")


def quoted(model: type[Any]) -> tuple[str, str]:
    quote = connection.ops.quote_name
    return quote(model._meta.db_table), quote(model._meta.get_field("status").column)


def assert_guarded(model: type[Any]) -> None:
    assert len(ensure(connection, [model]).created) == 1
    assert installation.missing(connection, [model]) == []
    assert ensure(connection, [model]) == Installed()
    table, state = quoted(model)
    sql(f"INSERT INTO {table} (id, {state}, lifecycle_version) VALUES (1, 'new', 0)")
    for version in ("", ", lifecycle_version = 0"):
        with pytest.raises(IntegrityError, match="is changed by lifecycle transitions only"):
            sql(f"UPDATE {table} SET {state} = 'done'{version}")
    sql(f"UPDATE {table} SET {state} = 'done', lifecycle_version = 1")
    assert len(ensure(connection, []).dropped) == 1


NAMES = {
    "plain": ("things", "status"),
    "a placeholder": ("th{name}ings", "st{name}ate"),
    "a dollar quote": ("th$lifecycle$ings", "st$lifecycle1$ate"),
    "a percent sign": ("50%s of things", "100%"),
    "quotes": ("things' table", "state's"),
    "a backslash": ("things\\", "state\\n"),
    "another alphabet": ("Straßenmöbel", "Stände"),
    "a long name": (LONG, "status"),
}
CANNOT_BE = {"mysql": {"a long name"}}  # refused at CREATE TABLE


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("B3")
@pytest.mark.parametrize("kind", NAMES)
@isolate_apps("tests.cases")
def test_a_state_is_guarded_whatever_its_table_and_column_are_called(kind: str) -> None:
    if kind in CANNOT_BE.get(connection.vendor, ()):
        pytest.skip("this database refuses such a name")
    table, column = NAMES[kind]
    model = model_of(table, state=column)
    with standing(model):
        assert_guarded(model)


@pytest.fixture
def other_schema() -> Iterator[None]:
    sql('CREATE SCHEMA "other"')
    yield
    sql('DROP SCHEMA "other" CASCADE')


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("B3")
@pytest.mark.parametrize("table", ['"other"."things"', '"public"."things"', '"other"."thi""ngs"', '"quoted"'])
@isolate_apps("tests.cases")
def test_a_table_named_with_its_schema_is_guarded(other_schema: None, table: str) -> None:
    model = model_of(table)
    with standing(model):
        assert_guarded(model)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("B3")
@isolate_apps("tests.cases")
def test_two_tables_of_one_name_in_two_schemas_are_each_guarded(other_schema: None) -> None:
    here, there = model_of("things"), model_of('"other"."things"', name="Other")
    with standing(here), standing(there):
        assert len(ensure(connection, [here, there]).created) == 2
        assert installation.missing(connection, [here, there]) == []
        assert len(ensure(connection, [here]).dropped) == 1
        assert [trigger.schema for trigger in installation.missing(connection, [here, there])] == ["other"]


@pytest.mark.row("B3")
@isolate_apps("tests.cases")
def test_a_table_that_the_database_cannot_guard_is_named() -> None:
    model = model_of('"other"."things"')
    said = installation.unguardable(connection, [model])
    if connection.vendor == "postgresql":
        assert said == []
    else:
        ((column, reason),) = said
        assert column == "cases.Thing.status"
        assert "another" in reason


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("M6")
@isolate_apps("tests.cases")
def test_an_unmanaged_table_is_guarded_when_the_project_asks_for_it(settings: Any) -> None:
    model = model_of("things", managed=False)
    with standing(model):
        assert ensure(connection, [model]) == Installed()
        assert installation.unguardable(connection, [model], look=True) == [
            ("cases.Thing.status", installation.UNMANAGED)
        ]
        settings.LIFECYCLE = {"DATABASE_GUARD": True, "DATABASE_GUARD_UNMANAGED": ["cases.Thing"]}
        assert installation.unguardable(connection, [model], look=True) == []
        assert_guarded(model)


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("M6")
@isolate_apps("tests.cases")
def test_a_view_is_named_rather_than_guarded(settings: Any) -> None:
    settings.LIFECYCLE = {"DATABASE_GUARD": True, "DATABASE_GUARD_UNMANAGED": ["cases.Thing"]}
    model = model_of("seen_things", managed=False)
    sql(VIEW)
    try:
        assert ensure(connection, [model]) == Installed()
        assert installation.unguardable(connection, [model], look=True) == [("cases.Thing.status", installation.VIEW)]
    finally:
        sql("DROP VIEW seen_things")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.row("M6")
@isolate_apps("tests.cases")
def test_a_partitioned_table_is_guarded_in_all_its_partitions(settings: Any) -> None:
    settings.LIFECYCLE = {"DATABASE_GUARD": True, "DATABASE_GUARD_UNMANAGED": ["cases.Thing"]}
    model = model_of("parted", managed=False)
    sql(
        "CREATE TABLE parted (id bigint GENERATED BY DEFAULT AS IDENTITY, status varchar(63) NOT NULL, "
        "status_changed_at timestamptz, lifecycle_version bigint NOT NULL) PARTITION BY HASH (id);"
        "CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
        "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);"
    )
    try:
        assert_guarded(model)
    finally:
        sql("DROP TABLE parted")


@pytest.mark.django_db
@pytest.mark.row("M6", "B3")
def test_check_and_doctor_name_what_the_guard_passes_by(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with isolate_apps("tests.cases"):
        model = model_of("seen_things", managed=False)
    for module in (databases, guard):
        monkeypatch.setattr(module.apps, "get_models", lambda *_: [model])
    settings.LIFECYCLE = {"DATABASE_GUARD": True, "DATABASE_GUARD_UNMANAGED": ["cases.Thang"]}

    said = [(str(one.id), str(one.msg), str(one.hint)) for one in databases.the_guard_reaches_every_state_column(None)]
    found = examine(only=["unguarded_columns"])

    assert [(code, sentence) for code, sentence, _ in said] == [
        ("lifecycle.W125", f"cases.Thing.status is not guarded by the database: {installation.UNMANAGED}."),
        ("lifecycle.W125", "DATABASE_GUARD_UNMANAGED names 'cases.Thang', which is no unmanaged model."),
    ]
    assert "Add 'cases.Thing' to LIFECYCLE['DATABASE_GUARD_UNMANAGED']" in said[0][2]
    assert "Did you mean 'cases.Thing'?" in said[1][2]
    assert [(one.id, one.examples) for one in found] == [("unguarded_columns", ("cases.Thing.status",))]
    settings.LIFECYCLE = {"DATABASE_GUARD": False}
    assert databases.the_guard_reaches_every_state_column(None) == []
    assert examine(only=["unguarded_columns"]) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("B3", "M6")
@isolate_apps("tests.cases")
def test_the_doctor_misses_no_index_where_it_cannot_look() -> None:
    def is_content(model: type[Any]) -> bool:
        names = {"state_field": "status", "changed_at_field": "status_changed_at"}
        return indexes._has_state_index(SimpleNamespace(model=model, **names), connection)  # type: ignore[arg-type]

    model = model_of("things")
    with standing(model):
        assert not is_content(model)
    assert is_content(model_of('"other"."things"', name="Elsewhere"))
    sql(VIEW)
    try:
        assert is_content(model_of("seen_things", managed=False, name="Seen"))
    finally:
        sql("DROP VIEW seen_things")
