"""Creating records: they begin in an initial state, at version 0, now — whatever the instance brought."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Value
from django.utils import timezone

from lifecycle import clock
from lifecycle.exceptions import NotAnInitialState
from lifecycle.models.writes import creation_in_any_state, loaded, starting_with, unsaved_edits
from tests.columns.models import Invoice, Order, Page, Token
from tests.columns.rows import paid, put, refused, refused_start, row

pytestmark = pytest.mark.django_db

LONG_AGO = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)


def test_a_new_record_begins_in_the_default_state_at_version_zero_and_now() -> None:
    moment = dt.datetime(2030, 5, 6, 7, 8, 9, 10, tzinfo=dt.UTC)
    with clock.replaced(lambda: moment):
        order = Order.objects.create()
    assert (order.status, order.lifecycle_version, order.status_changed_at) == ("new", 0, moment)
    stored = Order.objects.get()
    assert (stored.status, stored.lifecycle_version, stored.status_changed_at) == ("new", 0, moment)


def test_creating_in_a_later_state_is_refused_naming_the_beginning_and_the_right_call() -> None:
    with refused_start("Order begins in 'new'", "Order.status is 'paid'", "order.lifecycle.fire(") as caught:
        Order.objects.create(status="paid")
    error = caught.value
    assert (error.field, error.expected, error.got) == ("status", ("new",), "paid")
    assert not Order.objects.exists()


def test_creating_in_an_unknown_state_suggests_the_nearest_one() -> None:
    with refused_start("Order.status has no state 'payed'. Did you mean 'paid'? Known: new, paid, shipped."):
        Order.objects.create(status="payed")


def test_an_expression_is_no_initial_state() -> None:
    with refused_start():
        Order.objects.create(status=Value("new"))


def test_a_version_and_time_brought_along_are_dropped_because_a_copy_must_not_inherit_them() -> None:
    order = Order.objects.create(lifecycle_version=7, status_changed_at=LONG_AGO)
    assert order.lifecycle_version == 0
    assert row(order) == ("new", 0)
    assert Order.objects.get().status_changed_at.year == timezone.now().year


def test_save_with_force_insert_is_a_creation() -> None:
    with refused_start():
        Order(status="paid").save(force_insert=True)


def test_a_record_may_begin_in_each_initial_state_of_its_lifecycle() -> None:
    page = Page.objects.create(slug="a", status="paid")
    assert row(page) == ("paid", 0)
    with refused_start("Page begins in 'new' or 'paid'"):
        Page.objects.create(slug="b", status="shipped")


def test_a_new_instance_saved_over_an_existing_row_leaves_the_row_its_state() -> None:
    there = paid(Order, name="there")
    again = Order(pk=there.pk, name="again")
    again.save()
    again.save()
    assert row(there) == ("paid", 1)
    assert Order.objects.get().name == "again"


def test_a_new_instance_in_a_later_state_is_refused_before_it_meets_a_row() -> None:
    there = paid(Order)
    with refused_start():
        Order(pk=there.pk, status="shipped").save()
    assert row(there) == ("paid", 1)


def test_a_chosen_key_that_exists_does_not_reset_the_state_of_its_row() -> None:
    there = paid(Page, slug="home")
    Page(slug="home", title="over").save()
    assert row(there) == ("paid", 1)
    assert Page.objects.get().title == "over"


def test_bulk_create_begins_like_create_and_its_instances_can_be_saved_and_know_their_row(
    django_assert_num_queries: Any,
) -> None:
    orders = Order.objects.bulk_create([Order(name="a"), Order(name="b"), Order(name="c")])
    assert {row(order) for order in orders} == {("new", 0)}
    with django_assert_num_queries(3):
        for order in orders:
            assert unsaved_edits(order) == {}
            order.note = "n"
            assert unsaved_edits(order) == {"note": ("", "n")}
            order.save()


def test_bulk_create_with_columns_that_rewrite_themselves_leaves_no_edits(django_assert_num_queries: Any) -> None:
    (token,) = Token.objects.bulk_create([Token()])
    with django_assert_num_queries(0):
        assert unsaved_edits(token) == {}


def test_bulk_create_in_a_later_state_is_refused_and_inserts_nothing() -> None:
    with refused_start():
        Order.objects.bulk_create([Order(), Order(status="paid")])
    assert not Order.objects.exists()


def test_bulk_create_that_ignores_conflicts_leaves_the_row_its_state() -> None:
    there = paid(Page, slug="home")
    Page.objects.bulk_create([Page(slug="home", title="x")], ignore_conflicts=True)
    assert row(there) == ("paid", 1)


def target() -> dict[str, Any]:
    """MySQL takes any conflict and wants none named."""
    return {"unique_fields": ["slug"]} if connection.features.supports_update_conflicts_with_target else {}


def test_bulk_create_that_updates_other_columns_on_conflict_is_free() -> None:
    there = paid(Page, slug="home")
    Page.objects.bulk_create([Page(slug="home", title="z")], update_conflicts=True, update_fields=["title"], **target())
    assert row(there) == ("paid", 1)
    assert Page.objects.get().title == "z"


def test_bulk_create_that_updates_the_state_on_conflict_is_refused() -> None:
    there = paid(Page, slug="home")
    with refused():
        Page.objects.bulk_create([Page(slug="home")], update_conflicts=True, update_fields=["status"], **target())
    assert row(there) == ("paid", 1)


def test_get_or_create_in_a_later_state_is_refused() -> None:
    with refused_start():
        Order.objects.get_or_create(name="x", defaults={"status": "paid"})


def test_a_copy_of_a_paid_row_is_refused_until_it_is_put_where_records_begin() -> None:
    order = paid(Order)
    order.pk = None
    with refused_start():
        order.save()
    order._state.adding = True
    with refused_start():
        order.save()
    order.status = "new"
    order.save()
    assert row(order) == ("new", 0)
    order.save()
    assert Order.objects.count() == 2


def test_a_copy_under_a_new_chosen_key_is_decided_by_adding_before_what_was_loaded() -> None:
    page = paid(Page, slug="one")
    page.slug, page.status = "two", "new"
    with refused():
        page.save()
    page._state.adding = True
    page.save()
    assert row(page) == ("new", 0)
    page = Page.objects.get(slug="one")
    page.slug, page._state.adding, page.status = "three", True, "shipped"
    with refused_start():
        page.save()


def test_a_refused_insert_leaves_the_instance_as_it_was() -> None:
    order = paid(Order)
    before = {name: value for name, value in order.__dict__.items() if name != "_state"}
    order.pk = None
    with refused_start():
        order.save()
    order.pk = before["id"]
    assert {name: value for name, value in order.__dict__.items() if name != "_state"} == before
    order.save()
    assert row(order) == ("paid", 1)


def test_a_failed_insert_can_be_corrected_and_saved() -> None:
    order = Order(name=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        order.save()
    order.name = "mug"
    order.save()
    assert row(order) == ("new", 0)


def test_two_lifecycles_on_one_row_both_begin_at_their_own_start() -> None:
    invoice = Invoice.objects.create()
    assert (invoice.status, invoice.payment, invoice.payment_version) == ("new", "open", 0)
    assert invoice.payment_changed_at is not None
    with refused_start("Invoice begins in 'open'"):
        Invoice.objects.create(payment="settled")


# Permits ------------------------------------------------------------------------------------------


def test_inside_the_creation_permit_a_record_begins_where_it_says_with_its_version_and_time() -> None:
    with creation_in_any_state():
        order = Order.objects.create(status="paid", lifecycle_version=3, status_changed_at=LONG_AGO)
        fresh = Order.objects.create(status="shipped")
    assert row(order) == ("paid", 3)
    assert Order.objects.get(pk=order.pk).status_changed_at == LONG_AGO
    assert row(fresh) == ("shipped", 0)
    assert fresh.status_changed_at is not None
    with refused():
        Order.objects.update(status="new")
    order.status = "new"
    with refused():
        order.save()


def test_the_creation_permit_opens_known_states_only() -> None:
    with refused_start("has no state 'lost'"), creation_in_any_state():
        Order.objects.create(status="lost")


def test_the_creation_permit_does_not_open_updates() -> None:
    order = Order.objects.create()
    with creation_in_any_state():
        with refused():
            Order.objects.update(status="paid")
        order.status = "paid"
        with refused():
            order.save()
    assert row(order) == ("new", 0)


def test_starting_with_permits_exactly_its_values_for_exactly_its_instance() -> None:
    order, other = Order(), Order(status="paid")
    with starting_with(order, {"status": "paid", "lifecycle_version": 1, "status_changed_at": LONG_AGO}):
        with refused_start():
            other.save()
        order.save(force_insert=True)
    assert row(order) == ("paid", 1)
    assert (order.status, order.lifecycle_version, order.status_changed_at) == ("paid", 1, LONG_AGO)
    assert unsaved_edits(order) == {}
    order.pk = None
    with refused_start():
        order.save()


def test_starting_with_puts_the_instance_back_when_the_insert_fails() -> None:
    order = Order(name=None)
    with (
        pytest.raises(IntegrityError),
        transaction.atomic(),
        starting_with(order, {"status": "paid", "lifecycle_version": 1}),
    ):
        order.save(force_insert=True)
    assert (order.status, order.lifecycle_version, order.status_changed_at) == ("new", 0, None)
    assert loaded(order) is None


def test_starting_with_an_unknown_state_is_refused() -> None:
    order = Order()
    with refused_start("has no state 'lost'"), starting_with(order, {"status": "lost"}):
        order.save()


def test_a_refusal_of_creation_survives_pickling() -> None:
    import pickle

    with refused_start() as caught:
        Order.objects.create(status="paid")
    again: Any = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is NotAnInitialState
    assert (str(again), again.got) == (str(caught.value), "paid")


def test_put_moves_a_row_past_its_instance() -> None:
    order = Order.objects.create()
    put(order, "paid", 1)
    assert (order.status, row(order)) == ("new", ("paid", 1))
