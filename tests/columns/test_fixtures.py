"""Fixtures and historical models: written as they are, without opening anything for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core import serializers
from django.core.management import call_command
from django.db import IntegrityError, models, transaction
from django.db.migrations.state import ProjectState

from lifecycle.models import StateField
from lifecycle.models.permits import is_raw
from tests.columns.models import Order, OrderCopy
from tests.columns.rows import paid, put, refused, row

pytestmark = pytest.mark.django_db


def test_dumped_rows_are_loaded_in_the_state_they_had_new_and_over_existing_ones(tmp_path: Path) -> None:
    order = paid(Order)
    fixture = tmp_path / "orders.json"
    call_command("dumpdata", "columns.order", output=str(fixture))
    Order.objects.all().delete()
    call_command("loaddata", str(fixture), verbosity=0)
    assert row(order) == ("paid", 1)
    put(order, "shipped", 2)
    call_command("loaddata", str(fixture), verbosity=0)
    assert row(order) == ("paid", 1)


def test_a_failed_raw_save_leaves_nothing_open() -> None:
    Order.objects.create()
    with pytest.raises(IntegrityError), transaction.atomic():
        Order(name=None, status="paid").save_base(raw=True)
    assert not is_raw()
    with refused():
        Order.objects.update(status="paid")


def test_a_deserialized_record_saved_once_more_asks_its_row_once(django_assert_num_queries: Any) -> None:
    (found,) = serializers.deserialize("json", serializers.serialize("json", [paid(Order)]))
    found.save()
    record: Any = found.object
    with django_assert_num_queries(2):
        record.save()
    assert row(record) == ("paid", 1)
    record.status = "new"
    with refused():
        record.save()


def test_a_historical_model_writes_like_a_plain_one() -> None:
    order = paid(Order)
    historical: Any = _historical()
    assert type(historical._meta.get_field("status")) is StateField
    assert not historical._meta.get_field("status").guarded
    assert historical.objects.update(status="shipped") == 1
    old = historical.objects.get()
    old.status = "new"
    old.save()
    historical.objects.create(status="paid", lifecycle_version=4, name="other")
    assert row(order) == ("new", 1)
    assert Order.objects.filter(status="paid", lifecycle_version=4).count() == 1


def test_a_model_rendered_for_a_migration_does_not_inherit_the_guard() -> None:
    assert not any("LifecycleModel" in base.__name__ for base in _historical().__mro__)


def _historical() -> Any:
    return ProjectState.from_apps(apps).apps.get_model("columns", "Order")


def test_a_field_copied_onto_another_model_is_an_ordinary_column() -> None:
    field: Any = OrderCopy._meta.get_field("status")
    assert isinstance(field, StateField)
    assert not field.guarded
    assert Order._meta.get_field("status").guarded  # type: ignore[union-attr]
    copied: Any = OrderCopy.objects.create(status="paid", lifecycle_version=4)
    OrderCopy.objects.update(status="shipped")
    copied.status = "new"
    copied.save()
    assert OrderCopy.objects.values_list("status", "lifecycle_version").get() == ("new", 4)  # type: ignore[misc]
    assert isinstance(field, models.CharField)
