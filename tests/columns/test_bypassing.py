"""Bypassing: for repairs, with a reason that is logged."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from lifecycle.exceptions import InvalidInput
from lifecycle.models.writes import bypass
from tests.columns.models import Order, Page
from tests.columns.rows import paid, put, refused, refused_start, row

pytestmark = pytest.mark.django_db


def test_inside_a_bypass_the_orm_writes_owned_columns_and_afterwards_it_does_not() -> None:
    order = paid(Order)
    with bypass("repair after the import of March"):
        Order.objects.update(status="shipped", lifecycle_version=5)
        assert row(order) == ("shipped", 5)
        order.status = "new"
        order.save()
        assert row(order) == ("new", 5)
        other = Order.objects.create(status="paid", lifecycle_version=2)
        assert row(other) == ("paid", 2)
        order.status = "shipped"
        Order.objects.bulk_update([order], ["status"])
        assert row(order) == ("shipped", 5)
    with refused():
        Order.objects.update(status="new")


def test_a_stale_save_inside_a_bypass_still_leaves_what_it_did_not_assign() -> None:
    order = paid(Order)
    put(order, "shipped", 2)
    with bypass("renaming"):
        order.note = "n"
        order.save()
    assert row(order) == ("shipped", 2)


def test_a_new_instance_over_a_row_is_written_as_django_would_inside_a_bypass() -> None:
    page = paid(Page, slug="home")
    with bypass("restore"):
        Page(slug="home", status="shipped", lifecycle_version=7).save()
    assert row(page) == ("shipped", 7)


def test_unknown_states_stay_refused_inside_a_bypass() -> None:
    order = Order.objects.create()
    with bypass("repair"):
        with refused() as caught:
            Order.objects.update(status="payed")
        assert "Did you mean 'paid'?" in str(caught.value)
        order.status = "payed"
        with refused():
            order.save()
        with refused_start():
            Order.objects.create(status="payed")
    assert row(order) == ("new", 0)


def test_opening_a_bypass_logs_one_warning_with_its_reason(caplog: Any) -> None:
    Order.objects.create()
    with caplog.at_level(logging.WARNING, logger="lifecycle.writes"), bypass("ticket 4711"):
        Order.objects.update(status="paid")
        Order.objects.update(status="new")
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "lifecycle.writes")
    assert "ticket 4711" in record.getMessage()


@pytest.mark.parametrize("reason", ["", "  ", None])
def test_a_bypass_without_a_reason_is_an_error(reason: Any) -> None:
    with pytest.raises(InvalidInput, match="needs a reason"), bypass(reason):
        pass
    with refused():
        Order.objects.update(status="paid")
