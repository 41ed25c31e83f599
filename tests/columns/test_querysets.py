"""Querysets: no manager, expression or bulk method reaches an owned column; everything else is free."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.db.models import Case, Count, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Concat
from django.db.utils import DatabaseError
from django.utils import timezone

from lifecycle.exceptions import StateWriteRefused
from lifecycle.models.writes import Write, WriteExpression
from tests.columns.models import Customer, Order
from tests.columns.rows import paid, put, refused, refused_start, row

pytestmark = pytest.mark.django_db


def test_update_of_the_state_is_refused_naming_the_field_the_value_and_the_call() -> None:
    order = Order.objects.create()
    with refused() as caught:
        Order.objects.update(status="paid")
    assert str(caught.value) == (
        "Order.status is changed by transitions only, not by update(), bulk_update() or bulk_create() "
        "(tried: 'paid'). Fire one for the records: lifecycle.runtime.fire_many(queryset, '…', actor=…)."
    )
    assert (caught.value.field, caught.value.got) == ("status", "paid")
    assert row(order) == ("new", 0)


def test_update_of_another_column_is_free() -> None:
    order = paid(Order)
    assert Order.objects.update(note="n") == 1
    assert row(order) == ("paid", 1)


@pytest.mark.parametrize(
    "expression",
    [
        F("name"),
        Value("paid"),
        Case(When(name="mug", then=Value("paid")), default=Value("new")),
        Subquery(Order.objects.filter(pk=OuterRef("pk")).values("name")[:1]),
        Concat(Value("pa"), Value("id")),
        F("status"),
        None,
    ],
)
def test_update_with_any_expression_is_refused(expression: Any) -> None:
    order = Order.objects.create()
    with refused():
        Order.objects.update(status=expression)
    assert row(order) == ("new", 0)


def test_update_with_the_same_value_is_refused_because_nobody_knows_every_row() -> None:
    Order.objects.create()
    with refused():
        Order.objects.update(status="new")


def test_update_of_version_and_time_is_refused() -> None:
    order = Order.objects.create()
    with refused():
        Order.objects.update(lifecycle_version=F("lifecycle_version") + 1)
    with refused():
        Order.objects.update(status_changed_at=timezone.now())
    assert row(order) == ("new", 0)


def test_another_column_may_be_computed_from_the_state() -> None:
    order = paid(Order)
    states = Order._meta.get_field("status")
    computed = Case(When(status="paid", then=Value("was paid", output_field=states)), output_field=states)
    assert Order.objects.update(note=computed) == 1
    order.refresh_from_db()
    assert order.note == "was paid"


@pytest.mark.parametrize("manager", ["_base_manager", "_default_manager", "objects", "shouting"])
def test_every_manager_refuses(manager: str) -> None:
    order = Order.objects.create()
    with refused():
        getattr(Order, manager).update(status="paid")
    assert row(order) == ("new", 0)


def test_methods_of_a_users_own_manager_work_as_before() -> None:
    order = Order.objects.create()
    assert Order.shouting.shout() == 1
    order.refresh_from_db()
    assert order.name == "MUG"


def test_a_hand_made_queryset_refuses_in_public_and_private() -> None:
    order = Order.objects.create()
    with refused():
        QuerySet(Order).update(status="paid")
    with refused():
        QuerySet(Order)._update([(Order._meta.get_field("status"), None, "paid")])  # type: ignore[attr-defined]
    assert row(order) == ("new", 0)


def test_a_related_manager_refuses_the_state_and_does_everything_else() -> None:
    customer = Customer.objects.create(name="Ada")
    order = Order.objects.create(customer=customer)
    with refused():
        customer.orders.update(status="paid")
    with refused_start():
        customer.orders.create(status="paid")
    with refused():
        customer.orders.update_or_create(pk=order.pk, defaults={"status": "paid"})
    customer.orders.clear()
    customer.orders.add(order)
    assert row(order) == ("new", 0)


def test_bulk_update_of_the_state_is_refused() -> None:
    order = Order.objects.create()
    order.status = "paid"
    with refused():
        Order.objects.bulk_update([order], ["status"])
    assert row(order) == ("new", 0)


def test_bulk_update_of_another_column_by_a_stale_instance_leaves_the_state() -> None:
    order = Order.objects.create()
    put(order, "paid", 1)
    order.note = "n"
    assert Order.objects.bulk_update([order], ["note"]) == 1
    assert row(order) == ("paid", 1)


def test_bulk_update_of_another_column_leaves_an_assigned_state_for_the_next_save_to_refuse() -> None:
    order = Order.objects.create()
    order.status = "paid"
    Order.objects.bulk_update([order], ["note"])
    assert row(order) == ("new", 0)
    with refused():
        order.save()


def test_update_or_create_refuses_the_state_and_updates_the_rest() -> None:
    order = paid(Order, name="x")
    with refused():
        Order.objects.update_or_create(name="x", defaults={"status": "shipped"})
    _, created = Order.objects.update_or_create(name="x", defaults={"note": "n"})
    assert not created
    assert row(order) == ("paid", 1)


def test_update_or_create_creates_where_records_begin() -> None:
    _, created = Order.objects.update_or_create(name="y", defaults={"status": "new"})
    assert created
    with refused_start():
        Order.objects.update_or_create(name="z", create_defaults={"status": "paid"})


def test_deleting_and_losing_a_relation_are_free() -> None:
    customer = Customer.objects.create(name="Ada")
    order = paid(Order, customer=customer)
    customer.delete()
    assert row(order) == ("paid", 1)
    assert Order.objects.get().customer_id is None
    assert order.delete()[0] == 1


def test_reading_by_the_state_works_as_with_any_column() -> None:
    paid(Order, name="k")
    assert Order.objects.filter(status="paid").count() == 1
    assert Order.objects.exclude(status="new").count() == 1
    assert Order.objects.filter(status__in=["paid", "new"]).count() == 1
    assert list(Order.objects.values_list("status", flat=True)) == ["paid"]
    assert list(Order.objects.values("status").annotate(n=Count("id"))) == [{"status": "paid", "n": 1}]
    assert Order.objects.annotate(s=F("status")).order_by("status").get().s == "paid"
    assert Order.objects.annotate(s=Value("x", output_field=Order._meta.get_field("status"))).get().s == "x"
    assert Order.objects.get().get_status_display() == "Paid"


@pytest.mark.django_db(transaction=True)
def test_a_refusal_inside_an_atomic_block_spoils_the_block() -> None:
    Order.objects.create()
    with transaction.atomic():
        with pytest.raises(StateWriteRefused):
            Order.objects.update(status="paid")
        with pytest.raises(DatabaseError):
            Order.objects.count()
        transaction.set_rollback(True)


def test_the_permission_is_in_the_value_and_opens_nothing_beside_it() -> None:
    order = Order.objects.create()
    state, version = Order._meta.get_field("status"), Order._meta.get_field("lifecycle_version")
    with refused():
        Order.objects.update(status=Write("paid", state), lifecycle_version=5)
    grown = WriteExpression(F("lifecycle_version") + 1, version)
    assert Order.objects.update(status=Write("paid", state), lifecycle_version=grown) == 1
    assert row(order) == ("paid", 1)


def test_a_permitted_value_of_one_column_does_not_open_another() -> None:
    order = Order.objects.create()
    with refused():
        Order.objects.update(status=Write("paid", Order._meta.get_field("lifecycle_version")))
    assert row(order) == ("new", 0)
