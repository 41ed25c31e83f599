"""Loading: what an instance is known to hold survives deferring, refreshing, copying and pickling."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import django
import pytest

from lifecycle.exceptions import StateWriteRefused
from lifecycle.models.writes import loaded, unsaved_edits
from tests.columns.models import BigOrder, Customer, Invoice, Letter, OldTable, Order, OrderProxy
from tests.columns.rows import paid, put, refused, refused_start, row

pytestmark = pytest.mark.django_db

COPIES: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))]


def test_a_deferred_state_is_neither_written_nor_read_by_a_save(django_assert_num_queries: Any) -> None:
    paid(Order)
    order = Order.objects.only("name").get()
    with django_assert_num_queries(1):
        order.save()
    assert row(order) == ("paid", 1)


def test_assigning_a_deferred_state_is_refused_after_asking_the_row() -> None:
    paid(Order)
    order = Order.objects.only("name").get()
    order.status = "shipped"
    with refused():
        order.save()
    assert row(order) == ("paid", 1)


def test_a_deferred_state_read_later_is_known(django_assert_num_queries: Any) -> None:
    paid(Order)
    order = Order.objects.defer("status").get()
    assert order.status == "paid"
    put(order, "shipped", 2)
    with django_assert_num_queries(1):
        order.save()
    assert row(order) == ("shipped", 2)
    order.status = "new"
    with refused():
        order.save()


def test_saving_only_a_deferred_state_does_not_fetch_it(django_assert_num_queries: Any) -> None:
    paid(Order)
    order = Order.objects.defer("status").get()
    with django_assert_num_queries(1):
        order.save(update_fields=["status"])


@pytest.mark.skipif(django.VERSION < (6, 1), reason="Django fetches for peers since 6.1")
def test_a_state_fetched_for_the_peers_is_known_to_each_of_them(django_assert_num_queries: Any) -> None:
    from django.db.models import FETCH_PEERS  # type: ignore[attr-defined]

    paid(Order, name="a"), paid(Order, name="b")
    first, second = Order.objects.defer("status").fetch_mode(FETCH_PEERS).order_by("name")
    assert first.status == "paid"
    put(second, "shipped", 2)
    with django_assert_num_queries(1):
        second.save()
    assert row(second) == ("shipped", 2)
    second.status = "new"
    with refused():
        second.save()


def test_refreshing_drops_an_assignment() -> None:
    order = Order.objects.create()
    order.status = "paid"
    order.refresh_from_db()
    assert (order.status, unsaved_edits(order)) == ("new", {})
    order.save()


def test_refreshing_other_fields_keeps_an_assignment_refused() -> None:
    order = Order.objects.create()
    order.status = "paid"
    order.refresh_from_db(fields=["note"])
    with refused():
        order.save()


def test_refreshing_accepts_an_iterator_and_a_queryset_of_ones_own() -> None:
    order = Order.objects.create()
    put(order, "paid", 1)
    order.refresh_from_db(fields=iter(["status", "lifecycle_version"]))
    order.save()
    assert (order.status, row(order)) == ("paid", ("paid", 1))
    put(order, "shipped", 2)
    order.refresh_from_db(from_queryset=Order.objects.select_for_update())
    order.save()
    assert (order.status, row(order)) == ("shipped", ("shipped", 2))


@pytest.mark.parametrize("duplicate", COPIES)
def test_a_copy_saves_and_refuses_like_its_original(duplicate: Callable[[Any], Any]) -> None:
    twin = duplicate(paid(Order))
    assert unsaved_edits(twin) == {}
    twin.save()
    assert row(twin) == ("paid", 1)
    twin.status = "shipped"
    assert unsaved_edits(twin) == {"status": ("paid", "shipped")}
    with refused():
        twin.save()


def test_a_copy_does_not_share_what_it_learns_with_its_original() -> None:
    order = Order.objects.get(pk=paid(Order).pk)
    twin = copy.copy(order)
    twin.note = "twin"
    twin.save()
    assert loaded(order)["note"] == ""  # type: ignore[index]
    order.save()
    assert row(order) == ("paid", 1)


def test_a_pickle_without_a_record_asks_the_row_once(django_assert_num_queries: Any) -> None:
    order = paid(Order)
    del order.__dict__["_lifecycle_loaded"]
    order = pickle.loads(pickle.dumps(order))
    assert loaded(order) is None
    with django_assert_num_queries(2):
        order.save()
    assert row(order) == ("paid", 1)
    del order.__dict__["_lifecycle_loaded"]
    order.status = "shipped"
    with refused():
        order.save()


def test_a_pickle_names_its_columns_so_that_it_may_meet_a_class_with_others() -> None:
    state = paid(Order).__getstate__()
    assert state["_lifecycle_loaded"]["status"] == "paid"


def test_raw_queries_and_joined_and_prefetched_rows_are_known() -> None:
    customer = Customer.objects.create(name="Ada")
    paid(Order, customer=customer)
    for order in (
        Order.objects.raw("SELECT * FROM columns_order")[0],
        Order.objects.select_related("customer").get(),
        Customer.objects.prefetch_related("orders").get().orders.all()[0],
    ):
        assert loaded(order)["status"] == "paid"  # type: ignore[index]
        assert unsaved_edits(order) == {}
        order.save()
    (partial,) = Order.objects.raw("SELECT id, name FROM columns_order")
    assert set(loaded(partial)) == {"id", "name"}  # type: ignore[arg-type]
    partial.save()
    assert row(order) == ("paid", 1)


def test_a_row_joined_through_a_relation_and_partly_deferred_is_known_by_name() -> None:
    invoice = Invoice.objects.create()
    got = Invoice.objects.only("payment", "note").get()
    assert loaded(got) == {"id": invoice.pk, "payment": "open", "note": ""}


def test_a_proxy_is_guarded_like_its_model() -> None:
    order = paid(OrderProxy)
    order.save()
    order.status = "shipped"
    with refused():
        order.save()
    with refused():
        OrderProxy.objects.update(status="shipped")
    with refused_start():
        OrderProxy.objects.create(status="paid")
    assert row(order) == ("paid", 1)


def test_a_child_with_its_own_table_is_guarded_through_its_parent() -> None:
    order = BigOrder.objects.create(size=3)
    assert row(order) == ("new", 0)
    put(order, "paid", 1)
    order.size = 4
    order.save()
    assert (row(order), BigOrder.objects.get().size) == (("paid", 1), 4)
    order = BigOrder.objects.get()
    assert unsaved_edits(order) == {}
    order.status = "shipped"
    with refused():
        order.save()
    with refused():
        BigOrder.objects.update(status="shipped")
    with refused_start():
        BigOrder.objects.create(status="paid")
    assert row(order) == ("paid", 1)


def test_a_child_over_an_existing_parent_leaves_the_parent_its_state() -> None:
    parent = paid(Order)
    child = BigOrder(order_ptr=parent, name="grown", size=1)
    child.save()
    assert row(parent) == ("paid", 1)


@pytest.mark.django_db(transaction=True)
def test_a_mixed_update_of_a_child_is_refused_loudly_though_its_own_table_comes_first() -> None:
    order = BigOrder.objects.create(size=3)
    with pytest.raises(StateWriteRefused):
        BigOrder.objects.update(size=7, status="paid")
    assert row(order) == ("new", 0)


def test_abstract_inheritance_is_guarded() -> None:
    letter = paid(Letter)
    assert loaded(letter)["status"] == "paid"  # type: ignore[index]
    letter.save()
    letter.status = "shipped"
    with refused():
        letter.save()
    with refused():
        Letter.objects.update(status="shipped")


def test_each_of_two_lifecycles_on_a_row_is_guarded() -> None:
    invoice = Invoice.objects.create()
    invoice.note = "n"
    invoice.save()
    for name, value in (("status", "paid"), ("payment", "settled"), ("payment_version", 3)):
        invoice = Invoice.objects.get()
        setattr(invoice, name, value)
        right_call = "invoice.lifecycle.fire(" if name == "status" else "invoice.payments.fire("
        with refused(StateWriteRefused, right_call):
            invoice.save()
        with refused():
            Invoice.objects.update(**{name: value})


def test_columns_under_other_names_are_guarded() -> None:
    record = OldTable.objects.create()
    assert (record.phase, record.revision) == ("new", 0)
    assert record.moved_at is not None
    with refused():
        OldTable.objects.update(revision=3)
    assert {field.name for field in OldTable._meta.fields} == {"id", "phase", "moved_at", "revision"}


def test_refreshing_a_deleted_row_opens_nothing_for_others() -> None:
    order, other = Order.objects.create(), Order.objects.create()
    Order.objects.filter(pk=order.pk).delete()
    with pytest.raises(Order.DoesNotExist):
        order.refresh_from_db()
    other.status = "paid"
    with refused():
        other.save()
