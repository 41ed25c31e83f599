"""Drift: rows changed past the lifecycle are found, each once and with its reason; a healthy table is silent."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from lifecycle import SYSTEM, registry
from lifecycle.models.drift import BEHIND, NO_BEGINNING, NO_ENTRY, drifted
from lifecycle.models.writes import bypass, creation_in_any_state
from lifecycle.runtime import create
from tests.columns.models import BigOrder, Invoice, Order, Token

pytestmark = pytest.mark.django_db


def drift(name: str) -> list[tuple[str, str]]:
    return [(row.record_id, row.reason) for row in drifted(registry.get(name), "default")]


def healthy(model: Any, name: str) -> None:
    model.objects.create()
    create(model(), actor=SYSTEM, lifecycle=registry.get(name))
    moved = model.objects.create()
    moved.lifecycle.fire("pay", actor=SYSTEM)
    moved.lifecycle.fire("ship", actor=SYSTEM)


@pytest.mark.parametrize(("model", "name"), [(Invoice, "columns_invoices"), (Token, "columns_tokens")])
def test_a_healthy_table_is_silent_and_asked_in_one_statement(model: Any, name: str) -> None:
    healthy(model, name)
    with CaptureQueriesContext(connection) as statements:
        assert drift(name) == []
    assert len(statements) == 1


@pytest.mark.parametrize(("model", "name"), [(Invoice, "columns_invoices"), (Token, "columns_tokens")])
def test_each_kind_of_change_from_outside_is_found_once(model: Any, name: str) -> None:
    """spatie/laravel-model-states #61, viewflow/viewflow #1: rows in states nobody knows."""
    healthy(model, name)
    unbegun, renamed, counted, put_back = (model.objects.create() for _ in range(4))
    for record in (renamed, counted, put_back):
        record.lifecycle.fire("pay", actor=SYSTEM)
    with bypass("a change from outside"):
        model.objects.filter(pk=unbegun.pk).update(status="paid")
        model.objects.filter(pk=renamed.pk).update(status="shipped")
        model.objects.filter(pk=counted.pk).update(status="shipped", lifecycle_version=2)
        model.objects.filter(pk=put_back.pk).update(status="new", lifecycle_version=0)
    assert sorted(drift(name)) == sorted(
        [
            (str(unbegun.pk), NO_BEGINNING),
            (str(renamed.pk), NO_ENTRY),
            (str(counted.pk), NO_ENTRY),
            (str(put_back.pk), BEHIND),
        ]
    )


def test_imported_rows_are_found_until_they_are_adopted() -> None:
    with creation_in_any_state():
        one = Order.objects.create(status="paid")
        two = Order.objects.create(status="paid", lifecycle_version=3)
    assert sorted(drift("columns_orders")) == sorted([(str(one.pk), NO_BEGINNING), (str(two.pk), NO_ENTRY)])
    call_command("lifecycle_adopt", "columns_orders", verbosity=0)
    assert drift("columns_orders") == []


def test_a_second_lifecycle_of_a_row_and_a_child_table_are_looked_at_by_their_own_columns() -> None:
    invoice = Invoice.objects.create()
    invoice.lifecycle.fire("pay", actor=SYSTEM)
    with bypass("a change from outside"):
        Invoice.objects.update(payment="settled")
        child = BigOrder.objects.create()
        BigOrder.objects.update(status="paid")
    assert drift("columns_invoices") == []
    assert drift("columns_payments") == [(str(invoice.pk), NO_BEGINNING)]
    assert drift("columns_orders") == [(str(child.pk), NO_BEGINNING)]
