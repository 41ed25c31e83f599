"""The database guard: refuses a changed state without a grown version, whoever writes; installed after migrate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.migrations.state import ProjectState
from django.db.models.signals import post_migrate
from django.test.utils import CaptureQueriesContext

from lifecycle import SYSTEM
from lifecycle.database_guard import Installed, ensure, installation
from lifecycle.database_guard.installation import guarded_columns
from lifecycle.database_guard.trigger import PREFIX, Guarded
from lifecycle.models.writes import bypass
from lifecycle.runtime import fire_many
from tests.columns.models import BigOrder, Invoice, OldTable, Order, OrderCopy, OrderProxy, Twin
from tests.columns.rows import paid, put, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def guard() -> Installed:
    return ensure(connection, [Order])


def installed() -> set[tuple[str, str | None]]:
    return {(found.name, found.table) for found in installation._DIALECTS[connection.vendor].found(connection)}


def sql(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_a_changed_state_without_a_grown_version_is_refused_from_outside(guard: Installed) -> None:
    order = paid(Order)
    for statement in (
        "UPDATE columns_order SET status = 'new'",
        "UPDATE columns_order SET status = 'new', lifecycle_version = 0",
        "UPDATE columns_order SET status = 'new', lifecycle_version = 1",
    ):
        with pytest.raises(IntegrityError, match=r"columns_order\.status is changed by lifecycle transitions only"):
            sql(statement)
    with pytest.raises(IntegrityError), transaction.atomic():
        Twin.objects.update(status="new")
    with pytest.raises(IntegrityError), transaction.atomic(), bypass("without a version"):
        Order.objects.update(status="new")
    assert row(order) == ("paid", 1)


def test_what_grows_the_version_or_leaves_the_state_passes(guard: Installed) -> None:
    order = Order.objects.create()
    order.lifecycle.fire("pay", actor=SYSTEM)
    order.note = "n"
    order.save()
    Order.objects.update(note="m")
    sql("UPDATE columns_order SET status = 'paid', note = 'same'")
    sql("UPDATE columns_order SET status = 'shipped', lifecycle_version = 2")
    put(order, "new", 3)
    assert len(fire_many(Order.objects.all(), "pay", actor=SYSTEM).fired) == 1
    assert row(order) == ("paid", 4)


def test_a_child_table_is_guarded_on_its_parents_table(guard: Installed) -> None:
    order = BigOrder.objects.create(size=1)
    with pytest.raises(IntegrityError):
        sql("UPDATE columns_order SET status = 'paid'")
    assert row(order) == ("new", 0)


def test_historical_models_raw_saves_and_fixtures_are_refused(guard: Installed, tmp_path: Path) -> None:
    order = paid(Order)
    historical: Any = ProjectState.from_apps(apps).apps.get_model("columns", "Order")
    with pytest.raises(IntegrityError), transaction.atomic():
        historical.objects.update(status="new")
    order.status = "new"
    with pytest.raises(IntegrityError), transaction.atomic():
        order.save_base(raw=True)
    fixture = tmp_path / "orders.json"
    call_command("dumpdata", "columns.order", output=str(fixture))
    put(order, "shipped", 2)
    with pytest.raises(IntegrityError):
        call_command("loaddata", str(fixture), verbosity=0)
    assert row(order) == ("shipped", 2)


def test_each_state_of_a_row_is_guarded_with_its_own_version() -> None:
    assert len(ensure(connection, [Invoice]).created) == 2
    Invoice.objects.create()
    with pytest.raises(IntegrityError, match="payment_version must grow"):
        sql("UPDATE columns_invoice SET payment = 'settled', lifecycle_version = 9")
    sql("UPDATE columns_invoice SET payment = 'settled', payment_version = 1")


def test_installing_again_is_one_query_and_changes_nothing(guard: Installed) -> None:
    assert len(guard.created) == 1
    with CaptureQueriesContext(connection) as statements:
        assert ensure(connection, [Order]) == Installed()
    assert len(statements) == 1


def test_what_is_no_longer_wanted_is_dropped_and_triggers_of_others_stay(guard: Installed) -> None:
    if connection.vendor == "sqlite":
        sql("CREATE TRIGGER lifecycle_own AFTER UPDATE ON columns_order BEGIN SELECT 1; END")
    else:
        sql("CREATE FUNCTION lifecycle_own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    assert ensure(connection, []) == Installed(dropped=guard.created)
    assert installed() == set()
    sql("UPDATE columns_order SET status = 'paid'")
    sql("DROP TRIGGER lifecycle_own" if connection.vendor == "sqlite" else "DROP FUNCTION lifecycle_own()")


def test_only_tables_with_a_guarded_state_of_their_own_get_a_trigger() -> None:
    tables = [guarded.table for guarded in guarded_columns([Order, OrderProxy, BigOrder, OldTable, OrderCopy, Twin])]
    assert tables == ["columns_order", "columns_oldtable"]


@pytest.mark.django_db(transaction=True)
def test_a_later_migration_ends_guarded_and_writable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuilt table has lost its trigger on SQLite; a renamed column has broken its body on PostgreSQL."""
    ensure(connection, [Order])
    before = installed()
    name, note = Order._meta.get_field("name"), models.CharField(max_length=60, default="mug")
    note.set_attributes_from_name("name")
    note.model = Order
    try:
        with connection.schema_editor() as editor:
            editor.alter_field(Order, name, note)
        if connection.vendor == "sqlite":
            assert installed() == set()
        ensure(connection, [Order])
        assert installed() == before
        order = paid(Order)
        with pytest.raises(IntegrityError):
            sql("UPDATE columns_order SET status = 'new'")
        assert row(order) == ("paid", 1)

        state = Order._meta.get_field("status")
        phase = state.clone()
        phase.set_attributes_from_name("phase")
        phase.model = Order
        with connection.schema_editor() as editor:
            editor.alter_field(Order, state, phase)

        monkeypatch.setattr(
            installation,
            "guarded_columns",
            lambda of: [Guarded(table="columns_order", state="phase", version="lifecycle_version")],
        )
        changed = ensure(connection, [Order])
        assert (len(changed.created), len(installed())) == (1, 1)
        sql("UPDATE columns_order SET note = 'written'")
        with pytest.raises(IntegrityError):
            sql("UPDATE columns_order SET phase = 'new'")
        with connection.schema_editor() as editor:
            editor.alter_field(Order, phase, state)
    finally:
        with connection.schema_editor() as editor:
            editor.alter_field(Order, note, name)
        monkeypatch.undo()
        ensure(connection, [])


def test_a_table_that_does_not_exist_yet_is_left_for_the_next_time() -> None:
    with transaction.atomic():
        sql("ALTER TABLE columns_oldtable RENAME TO columns_elsewhere")
        assert ensure(connection, [OldTable]) == Installed()
        sql("ALTER TABLE columns_elsewhere RENAME TO columns_oldtable")
        assert len(ensure(connection, [OldTable]).created) == 1
        transaction.set_rollback(True)


@pytest.mark.django_db(transaction=True)
def test_migrate_installs_the_guard_when_the_setting_is_on_and_removes_it_when_it_is_off(settings: Any) -> None:
    assert installed() == set()
    settings.LIFECYCLE = {"DATABASE_GUARD": True}
    try:
        call_command("migrate", verbosity=0)
        tables = {table for _, table in installed()}
        assert {"columns_order", "columns_invoice", "columns_oldtable", "support_ticket"} <= tables
        assert all(name.startswith(PREFIX) for name, _ in installed())
    finally:
        settings.LIFECYCLE = {}
        call_command("migrate", verbosity=0)
    assert installed() == set()


def test_the_receiver_listens_to_this_app_alone() -> None:
    config = apps.get_app_config("lifecycle")
    assert [r for r in post_migrate._live_receivers(config)[0] if r.__name__ == "after_migrate"]  # type: ignore[attr-defined]
    other = apps.get_app_config("columns")
    assert not [r for r in post_migrate._live_receivers(other)[0] if r.__name__ == "after_migrate"]  # type: ignore[attr-defined]
