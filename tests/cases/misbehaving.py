"""Misbehaving: what a project's code does inside a transition, right and wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, OperationalError, connections, transaction

from tests.cases.lifecycles.folders import behaviours
from tests.cases.models.folders import Name
from tests.columns.models import Order


class CallbackFailed(OperationalError):
    """What a project's own callback raises after the commit, looking like a database that lost a race."""


@contextmanager
def behaving(place: str, behave: Any) -> Iterator[None]:
    """What a folder's code does in one place (`guard`, `hook`, `effect`, …), for as long as the block runs."""
    behaviours[place] = behave
    try:
        yield
    finally:
        behaviours.pop(place, None)


def swallows(ctx: Any) -> None:
    """Meets a unique value and goes on, without a savepoint of its own."""
    Name.objects.using(ctx.using).get_or_create(name="taken")
    try:
        Name(name="taken").save(using=ctx.using, force_insert=True)
    except IntegrityError:
        return


def swallows_in_a_savepoint(ctx: Any) -> None:
    """The same as it should be."""
    Name.objects.using(ctx.using).get_or_create(name="taken")
    try:
        with transaction.atomic(using=ctx.using):
            Name(name="taken").save(using=ctx.using, force_insert=True)
    except IntegrityError:
        return


def swallows_by_cursor(ctx: Any) -> None:
    """The same past Django's own bookkeeping."""
    Name.objects.using(ctx.using).get_or_create(name="taken")
    try:
        with connections[ctx.using].cursor() as cursor:
            cursor.execute("INSERT INTO cases_name (name) VALUES ('taken')")
    except IntegrityError:
        return


def registers_a_callback_that_fails(ctx: Any) -> None:
    def fail() -> None:
        raise CallbackFailed("database is locked")

    transaction.on_commit(fail, using=ctx.using)


def raises(ctx: Any) -> None:
    raise ValueError("a bug")


def breaks_the_transaction(ctx: Any) -> None:
    """A guard or hook that a database refuses."""
    with connections[ctx.using].cursor() as cursor:
        cursor.execute("SELECT * FROM a_table_that_is_not_there")


def points_at_nobody(ctx: Any) -> None:
    """Writes a foreign key to a row that is not there: seen at the COMMIT only, where constraints are deferred."""
    Order.objects.using(ctx.using).bulk_create([Order(customer_id=987654)])
