"""Rows: put into a state, and looked at past every instance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction

from lifecycle.exceptions import NotAnInitialState, StateWriteRefused
from lifecycle.models.writes import Write


def row(record: Any) -> tuple[str, int]:
    """The state and version the database holds."""
    return tuple(type(record)._base_manager.values_list("status", "lifecycle_version").get(pk=record.pk))


def put(record: Any, status: str, version: int) -> None:
    """What somebody else's transition would leave in the row; the instance stays as it is."""
    model: Any = type(record)._meta.get_field("status").model
    get = model._meta.get_field
    model._base_manager.filter(pk=record.pk).update(
        status=Write(status, get("status")), lifecycle_version=Write(version, get("lifecycle_version"))
    )


def paid(model: Any, **values: Any) -> Any:
    """A loaded record whose row is paid, at version 1."""
    record = model.objects.create(**values)
    put(record, "paid", 1)
    return model.objects.get(pk=record.pk)


@contextmanager
def refused(kind: type[Exception] = StateWriteRefused, *words: str) -> Iterator[Any]:
    """The block raises, with these words in its sentence. A savepoint: Django spoils the block a refusal passes."""
    with pytest.raises(kind) as caught, transaction.atomic():
        yield caught
    assert type(caught.value) is kind
    for word in words:
        assert word in str(caught.value)


@contextmanager
def refused_start(*words: str) -> Iterator[Any]:
    with refused(NotAnInitialState, *words) as caught:
        yield caught
