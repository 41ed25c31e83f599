"""Saving instances: assignments are refused, stale values never undo what the row has become."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import F, Value
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from lifecycle.models.writes import unsaved_edits
from tests.columns.models import Order
from tests.columns.rows import paid, put, refused, refused_start, row

pytestmark = pytest.mark.django_db


def test_an_untouched_instance_saves_and_keeps_its_state() -> None:
    order = paid(Order)
    order.note = "n"
    order.save()
    assert row(order) == ("paid", 1)


def test_a_stale_save_does_not_undo_a_transition_that_happened_meanwhile() -> None:
    order = paid(Order)
    put(order, "shipped", 2)
    order.note = "mine"
    order.save()
    assert row(order) == ("shipped", 2)
    assert (order.status, order.lifecycle_version) == ("paid", 1)
    order.save()
    assert row(order) == ("shipped", 2)
    assert Order.objects.get().note == "mine"


def test_saving_and_reading_the_state_is_one_statement_that_sets_the_column_to_itself() -> None:
    order = paid(Order)
    with CaptureQueriesContext(
        connection,
    ) as statements:
        order.save()
        assert order.status == "paid"
    assert len(statements) == 1
    column = connection.ops.quote_name("status")
    assert f"{column} = {column}" in statements[0]["sql"]
    assert "RETURNING" not in statements[0]["sql"]


def test_an_assigned_state_is_refused_naming_the_field_both_values_and_the_call() -> None:
    order = Order.objects.create()
    order.status = "paid"
    with refused() as caught:
        order.save()
    assert str(caught.value) == (
        "Order.status is 'new' and only a transition changes it (tried: 'paid'). "
        "Fire one: order.lifecycle.fire('…', actor=…)."
    )
    assert (caught.value.field, caught.value.expected, caught.value.got) == ("status", "new", "paid")
    assert row(order) == ("new", 0)


def test_an_assigned_state_is_refused_when_it_is_the_only_field_saved() -> None:
    order = Order.objects.create()
    order.status = "paid"
    with refused():
        order.save(update_fields=["status"])
    assert row(order) == ("new", 0)


def test_saving_another_field_leaves_an_assigned_state_behind_for_the_next_full_save_to_refuse() -> None:
    order = Order.objects.create()
    order.status, order.note = "paid", "n"
    order.save(update_fields=["note"])
    assert row(order) == ("new", 0)
    with refused():
        order.save()


def test_assigning_the_state_it_has_is_no_change() -> None:
    order = paid(Order)
    order.status = Order._meta.get_field("status").states[1]
    order.save()
    assert row(order) == ("paid", 1)


def test_an_assignment_taken_back_is_no_change() -> None:
    order = paid(Order)
    order.status = "new"
    order.status = "paid"
    order.save()
    assert row(order) == ("paid", 1)


def test_saving_only_an_untouched_state_leaves_the_row_as_it_is() -> None:
    order = paid(Order)
    put(order, "shipped", 2)
    order.save(update_fields=["status"])
    assert row(order) == ("shipped", 2)


@pytest.mark.parametrize(("name", "value"), [("lifecycle_version", 9), ("status_changed_at", timezone.now())])
def test_the_version_and_the_time_are_owned_like_the_state(name: str, value: Any) -> None:
    order = paid(Order)
    setattr(order, name, value)
    with refused() as caught:
        order.save()
    assert caught.value.field == name
    assert row(order) == ("paid", 1)


@pytest.mark.parametrize("expression", [F("name"), Value("paid")])
def test_an_expression_is_an_assignment(expression: Any) -> None:
    order = paid(Order)
    order.status = expression
    with refused():
        order.save()


def test_a_deleted_row_is_not_resurrected_in_a_later_state() -> None:
    order = paid(Order)
    Order.objects.all().delete()
    with refused_start():
        order.save()
    assert not Order.objects.exists()


def test_a_deleted_row_in_its_first_state_is_inserted_again_as_django_does() -> None:
    order = Order.objects.create()
    Order.objects.all().delete()
    order.save()
    assert row(order) == ("new", 0)


def test_save_with_force_update_keeps_the_state() -> None:
    order = paid(Order)
    order.save(force_update=True)
    assert row(order) == ("paid", 1)


def test_a_raw_save_writes_what_it_holds_and_the_next_save_refuses_it_as_an_assignment() -> None:
    order = Order.objects.create()
    order.status = "paid"
    order.save_base(raw=True)
    assert row(order) == ("paid", 0)
    with refused():
        order.save()


def test_full_clean_works_with_constraints_on_the_state() -> None:
    paid(Order).full_clean()
    Order(name="fresh").full_clean()
    with pytest.raises(ValidationError, match="known_state"):
        Order(name="fresh", status="lost").full_clean()


def test_a_save_renews_what_is_known_of_the_saved_columns_only() -> None:
    order = Order.objects.create()
    order.note, order.name = "n", "m"
    order.save(update_fields=["note"])
    assert unsaved_edits(order) == {"name": ("mug", "m")}
    order.save()
    assert unsaved_edits(order) == {}


def test_an_instance_set_past_its_attributes_is_refused_all_the_same() -> None:
    order = paid(Order)
    order.__dict__["status"] = "shipped"
    with refused():
        order.save()
    object.__setattr__(order, "status", "new")
    with refused():
        order.save()
    assert row(order) == ("paid", 1)


@pytest.mark.parametrize("forgery", ["shipped", None, (), ("shipped",), [], {"status": "new"}])
def test_a_forged_record_of_what_was_loaded_does_not_open_the_column(forgery: Any) -> None:
    order = paid(Order)
    order.status = "shipped"
    order.__dict__["_lifecycle_loaded"] = forgery
    with refused():
        order.save()
    assert row(order) == ("paid", 1)
