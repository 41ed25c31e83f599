"""Unsaved edits: every column whose value is not what the row held."""

from __future__ import annotations

import pytest

from lifecycle.models.writes import loaded, note_loaded, unsaved_edits
from tests.columns.models import Customer, Order, Page, Token
from tests.columns.rows import paid

pytestmark = pytest.mark.django_db


def test_a_loaded_instance_has_none_until_a_column_is_assigned_another_value() -> None:
    order = paid(Order)
    assert unsaved_edits(order) == {}
    order.note, order.name = "changed", "mug"
    assert unsaved_edits(order) == {"note": ("", "changed")}


def test_assigning_a_relation_is_an_edit_of_its_column() -> None:
    order, customer = paid(Order), Customer.objects.create(name="Ada")
    order.customer = customer
    assert unsaved_edits(order) == {"customer_id": (None, customer.pk)}


def test_a_json_value_that_was_replaced_and_one_that_was_changed_in_place_are_seen() -> None:
    order = paid(Order, extra={"a": 1})
    order.extra = {"a": 2}
    assert unsaved_edits(order) == {"extra": ({"a": 1}, {"a": 2})}
    order.refresh_from_db()
    order.extra["a"] = 3
    assert unsaved_edits(order) == {"extra": ({"a": 1}, {"a": 3})}


def test_an_assigned_owned_column_is_an_edit() -> None:
    order = paid(Order)
    order.lifecycle_version = 9
    assert unsaved_edits(order) == {"lifecycle_version": (1, 9)}


def test_a_deferred_column_that_was_assigned_is_compared_with_the_row(django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    paid(Order)
    order = Order.objects.only("name").get()
    with django_assert_num_queries(0):
        assert unsaved_edits(order) == {}
    order.note = "n"
    with django_assert_num_queries(1):
        assert unsaved_edits(order) == {"note": ("", "n")}


def test_an_instance_that_was_never_saved_is_compared_with_its_defaults() -> None:
    assert unsaved_edits(Order(pk=7)) == {}
    assert unsaved_edits(Token()) == {}
    assert unsaved_edits(Order(pk=7, note="n")) == {"note": ("", "n")}
    assert unsaved_edits(Page(slug="a", title="t")) == {"title": ("", "t")}


def test_an_instance_without_a_record_asks_the_row() -> None:
    order = paid(Order)
    del order.__dict__["_lifecycle_loaded"]
    assert unsaved_edits(order) == {}
    order.note = "n"
    assert unsaved_edits(order) == {"note": ("", "n")}


def test_values_that_cannot_be_compared_are_an_edit() -> None:
    class Array(list):  # type: ignore[type-arg]
        __hash__ = None  # type: ignore[assignment]

        def __ne__(self, other: object) -> bool:
            raise ValueError("ambiguous")

    order = paid(Order)
    order.extra = Array([1])
    assert set(unsaved_edits(order)) == {"extra"}


def test_noting_replaces_what_is_known_of_the_named_columns_only() -> None:
    order = paid(Order)
    order.note = order.name = "x"
    note_loaded(order, {"note": "x"})
    assert unsaved_edits(order) == {"name": ("mug", "x")}


def test_what_was_loaded_is_none_for_a_new_instance_and_complete_for_a_read_one() -> None:
    assert loaded(Order()) is None
    order = paid(Order)
    known = loaded(order)
    assert known is not None
    assert set(known) == {field.attname for field in Order._meta.concrete_fields}
