"""Outside: what goes round the fields is not stopped by them (the database guard and the drift query are for that)."""

from __future__ import annotations

import pytest
from django.db import connection

from tests.columns.models import Order, Twin
from tests.columns.rows import paid, row

pytestmark = pytest.mark.django_db


def test_plain_sql_is_not_seen_and_the_record_saves_on() -> None:
    order = paid(Order)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE columns_order SET status = 'new'")
    order.save()
    assert row(order) == ("new", 1)


def test_another_model_on_the_same_table_is_not_seen() -> None:
    order = paid(Order)
    assert Twin.objects.update(status="new") == 1
    order.save()
    assert row(order) == ("new", 1)
