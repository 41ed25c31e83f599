"""Reading one row by its key: the same as the ORM's answer, without compiling it anew."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import connections, models

from lifecycle import SYSTEM
from lifecycle.models import writes
from lifecycle.runtime import create
from lifecycle.store import reading
from tests.columns.models import BigOrder, Order, OrderProxy
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db


def plain(record: Any) -> dict[str, Any]:
    return {field.attname: getattr(record, field.attname) for field in record._meta.concrete_fields}


@pytest.fixture
def records() -> list[models.Model]:
    return [
        create(Ticket(log=[{"said": "it burns"}, None], title="Ü"), actor=SYSTEM),
        create(Parcel(), actor=SYSTEM),
        Order.objects.create(),
        BigOrder.objects.create(),
    ]


def test_it_is_what_the_orm_reads_whatever_the_model_is_made_of(records: list[models.Model]) -> None:
    for record in records:
        model = type(record)
        for _ in range(2):
            found = reading.by_key(model, record.pk, "default")
            expected = model._base_manager.get(pk=record.pk)
            assert type(found) is model
            assert plain(found) == plain(expected)
            assert (found._state.db, found._state.adding) == ("default", False)
            assert dict(writes.loaded(found) or {}) == dict(writes.loaded(expected) or {})


def test_a_proxy_is_read_as_itself(records: list[models.Model]) -> None:
    assert type(reading.by_key(OrderProxy, records[2].pk, "default")) is OrderProxy


def test_the_row_is_as_it_is_now(records: list[models.Model]) -> None:
    ticket = records[0]
    reading.by_key(Ticket, ticket.pk, "default")
    Ticket.objects.filter(pk=ticket.pk).update(title="Later")
    assert reading.by_key(Ticket, ticket.pk, "default").title == "Later"


@pytest.mark.parametrize("pk", [0, -1, 2**40, 2**63, 10**30])
def test_a_key_that_no_row_has_is_none(pk: int) -> None:
    assert reading.by_key(Ticket, pk, "default") is None
    assert reading.by_key(Parcel, uuid.uuid4(), "default") is None


def test_it_is_compiled_once_per_connection(records: list[models.Model]) -> None:
    connections["default"].__dict__.pop("_lifecycle_readers", None)
    reading.by_key(Ticket, records[0].pk, "default")
    reader = connections["default"].__dict__["_lifecycle_readers"][Ticket]
    assert reader is not None
    reading.by_key(Ticket, records[0].pk, "default")
    assert connections["default"].__dict__["_lifecycle_readers"] == {Ticket: reader}


def test_a_base_manager_that_does_more_than_to_read_columns_is_asked_itself(
    records: list[models.Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Annotated(models.Manager[Ticket]):
        def get_queryset(self) -> models.QuerySet[Ticket]:
            return super().get_queryset().annotate(double=models.F("priority") * 2)

    manager = Annotated()
    manager.model = Ticket
    monkeypatch.setitem(Ticket._meta.__dict__, "base_manager", manager)
    connections["default"].__dict__.pop("_lifecycle_readers", None)
    try:
        assert reading.by_key(Ticket, records[0].pk, "default").double == 2
    finally:
        connections["default"].__dict__.pop("_lifecycle_readers", None)
