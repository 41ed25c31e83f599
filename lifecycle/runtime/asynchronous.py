"""Async twins: the same verbs, awaited; the same code in Django's thread for database work."""

from __future__ import annotations

from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from lifecycle.refusals import Verdict
from lifecycle.runtime import asking, creation, firing, viewing
from lifecycle.runtime.results import Availability, Fired, RecordView

Record = TypeVar("Record")


async def acreate(record: Record, **options: Any) -> Record:
    """`create`, awaited; the same arguments, answers and errors."""
    answer: Record = await sync_to_async(creation.create)(record, **options)
    return answer


async def afire(record: Any, transition: Any, **options: Any) -> Fired:
    """`fire`, awaited; the same arguments, answers and errors."""
    return await sync_to_async(firing.fire)(record, transition, **options)


async def acan(record: Any, transition: Any, **options: Any) -> Verdict:
    """`can`, awaited; guards may ask the database."""
    return await sync_to_async(asking.can)(record, transition, **options)


async def aavailable(record: Any, **options: Any) -> list[Availability]:
    """`available`, awaited."""
    return await sync_to_async(asking.available)(record, **options)


async def aview(record: Any, **options: Any) -> RecordView:
    """`view`, awaited."""
    return await sync_to_async(viewing.view)(record, **options)
