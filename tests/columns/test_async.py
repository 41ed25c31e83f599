"""Async: the same guards under `sync_to_async`; permits follow it, and stay out of threads."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from lifecycle.exceptions import NotAnInitialState, StateWriteRefused
from lifecycle.models.permits import creation_is_free
from lifecycle.models.writes import Write, bypass, creation_in_any_state
from tests.columns.models import Order
from tests.columns.rows import row


@pytest.mark.django_db(transaction=True)
def test_async_writes_are_refused_like_the_others() -> None:
    async def attempts() -> Any:
        with pytest.raises(NotAnInitialState):
            await Order.objects.acreate(status="paid")
        order = await Order.objects.acreate(name="a")
        with pytest.raises(StateWriteRefused):
            await Order.objects.aupdate(status="paid")
        order.status = "paid"
        with pytest.raises(StateWriteRefused):
            await order.asave()
        with pytest.raises(StateWriteRefused):
            await Order.objects.abulk_update([order], ["status"])
        with pytest.raises(StateWriteRefused):
            await Order.objects.aupdate_or_create(name="a", defaults={"status": "paid"})
        with pytest.raises(NotAnInitialState):
            await Order.objects.aupdate_or_create(name="b", defaults={"status": "paid"})
        await order.arefresh_from_db()
        await order.asave()
        return order

    assert row(async_to_sync(attempts)()) == ("new", 0)


def test_the_permits_follow_sync_to_async_and_tasks_and_not_threads() -> None:
    seen: dict[str, bool] = {}

    async def look() -> None:
        with creation_in_any_state():
            seen["sync_to_async"] = await sync_to_async(creation_is_free)()
            task = asyncio.ensure_future(later())
            thread = threading.Thread(target=lambda: seen.update(thread=creation_is_free()))
            thread.start()
            thread.join()
        seen["after"] = creation_is_free()
        seen["task that outlives it"] = await task

    async def later() -> bool:
        return creation_is_free()

    asyncio.run(look())
    assert seen == {"sync_to_async": True, "thread": False, "after": False, "task that outlives it": True}


@pytest.mark.django_db(transaction=True)
def test_nothing_is_open_for_another_statement_or_thread_while_the_runtime_writes() -> None:
    from django.db import connection

    order, outcomes = Order.objects.create(), {}

    def attempt(name: str) -> None:
        try:
            Order.objects.update(status="shipped")
            outcomes[name] = "written"
        except StateWriteRefused:
            outcomes[name] = "refused"
        finally:
            if name == "thread":
                connection.close()

    def meanwhile(execute: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith("UPDATE") and not outcomes:
            outcomes["begun"] = "yes"
            attempt("nested")
            thread = threading.Thread(target=attempt, args=("thread",))
            thread.start()
            thread.join()
        return execute(sql, *arguments)

    with connection.execute_wrapper(meanwhile):
        Order.objects.update(status=Write("paid", Order._meta.get_field("status")))
    assert outcomes == {"begun": "yes", "nested": "refused", "thread": "refused"}
    assert row(order) == ("paid", 0)


def test_a_bypass_does_not_reach_another_thread() -> None:
    seen = []
    with bypass("here only"):
        thread = threading.Thread(target=lambda: seen.append(creation_is_free()))
        thread.start()
        thread.join()
        assert creation_is_free()
    assert seen == [False]
