"""Transitions: the one writer that passes, and what it leaves on instances."""

from __future__ import annotations

import pytest
from django.db import transaction

from lifecycle import SYSTEM
from lifecycle.exceptions import UnsavedEdits
from lifecycle.models import TransitionLog
from lifecycle.models.writes import loaded, unsaved_edits
from lifecycle.runtime import create, fire_many
from tests.columns.models import BigOrder, Invoice, OldTable, Order, OrderProxy, Page, Token
from tests.columns.rows import put, refused, row

pytestmark = pytest.mark.django_db


def test_firing_moves_the_row_and_the_instance_which_can_be_saved_afterwards() -> None:
    order = Order.objects.create()
    order.lifecycle.fire("pay", actor=SYSTEM)
    assert (order.status, order.lifecycle_version, row(order)) == ("paid", 1, ("paid", 1))
    assert unsaved_edits(order) == {}
    order.note = "n"
    order.save()
    assert row(order) == ("paid", 1)


def test_firing_with_an_assigned_state_is_refused_and_changes_nothing() -> None:
    order = Order.objects.create()
    order.status = "paid"
    with refused():
        order.lifecycle.fire("pay", actor=SYSTEM)
    assert (order.status, row(order)) == ("paid", ("new", 0))


def test_firing_with_another_unsaved_edit_is_refused_and_keeps_it() -> None:
    order = Order.objects.create()
    order.note = "mine"
    with refused(UnsavedEdits, "note"):
        order.lifecycle.fire("pay", actor=SYSTEM)
    assert (order.note, row(order)) == ("mine", ("new", 0))


def test_firing_for_many_is_one_update_that_grows_every_version_by_one() -> None:
    one, two = Order.objects.create(name="a"), Order.objects.create(name="b")
    put(two, "new", 4)
    report = fire_many(Order.objects.all(), "pay", actor=SYSTEM)
    assert (len(report.fired), report.refused) == (2, [])
    assert (row(one), row(two)) == (("paid", 1), ("paid", 5))


def test_an_instance_ahead_of_its_row_after_a_rollback_saves_harmlessly() -> None:
    order = Order.objects.create()
    with transaction.atomic():
        order.lifecycle.fire("pay", actor=SYSTEM)
        transaction.set_rollback(True)
    assert (order.status, row(order)) == ("paid", ("new", 0))
    order.save()
    assert row(order) == ("new", 0)
    order.lifecycle.fire("pay", actor=SYSTEM)
    assert row(order) == ("paid", 1)


def test_the_time_of_a_transition_reads_back_as_the_instance_has_it() -> None:
    order = Order.objects.create()
    order.lifecycle.fire("pay", actor=SYSTEM)
    assert Order.objects.get().status_changed_at == order.status_changed_at


def test_a_record_created_by_the_runtime_is_at_version_one() -> None:
    order = create(Order(name="x"), actor=SYSTEM)
    assert row(order) == ("new", 1)
    assert (order.lifecycle_version, unsaved_edits(order)) == (1, {})
    order.save()
    assert row(order) == ("new", 1)


def test_chosen_and_generated_keys_a_proxy_and_a_child_fire_alike() -> None:
    for record in (
        Page.objects.create(slug="a"),
        Token.objects.create(),
        OrderProxy.objects.create(name="p"),
        BigOrder.objects.create(name="b", size=2),
    ):
        fresh = type(record).objects.get(pk=record.pk)
        fresh.lifecycle.fire("pay", actor=SYSTEM)
        assert row(fresh) == ("paid", 1)
        record.save()
        assert row(record) == ("paid", 1)
        assert loaded(fresh)["status"] == "paid"  # type: ignore[index]


def test_two_lifecycles_on_one_row_move_apart_and_keep_their_own_versions() -> None:
    invoice = Invoice.objects.create()
    invoice.lifecycle.fire("pay", actor=SYSTEM)
    invoice.lifecycle.fire("ship", actor=SYSTEM)
    invoice.payments.fire("settle", actor=SYSTEM)
    stored = Invoice.objects.get()
    assert (stored.status, stored.lifecycle_version) == ("shipped", 2)
    assert (stored.payment, stored.payment_version) == ("settled", 1)
    assert stored.payment_changed_at != stored.status_changed_at
    assert TransitionLog.objects.filter(record_id=str(invoice.pk)).count() == 3


def test_a_lifecycle_on_columns_of_other_names_fires() -> None:
    record = OldTable.objects.create()
    record.lifecycle.fire("pay", actor=SYSTEM)
    stored = OldTable.objects.get()
    assert (stored.phase, stored.revision, stored.moved_at) == ("paid", 1, record.moved_at)
