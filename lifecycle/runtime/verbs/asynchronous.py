"""Async twins: the same verbs, awaited; the same code in Django's thread for database work."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from asgiref.sync import sync_to_async

from lifecycle.definition.contexts import Record
from lifecycle.definition.transitions import Transition
from lifecycle.refusals import Verdict
from lifecycle.runtime.results import Availability, BatchReport, Fired, RecordView
from lifecycle.runtime.verbs import asking, batch, creation, firing, viewing
from lifecycle.runtime.verbs.subjects import Subjects


async def acreate(record: Record, *, actor: Any, **options: Any) -> Record:
    """`create`, awaited; the same arguments, answers and errors."""
    answer: Record = await sync_to_async(creation.create)(record, actor=actor, **options)
    return answer


async def afire(
    record: Record,
    transition: Transition | str,
    *,
    actor: Any,
    input: Mapping[str, Any] | None = None,
    request_id: str | None = None,
    expect_version: int | None = None,
    expect_changed_before: dt.datetime | None = None,
    manual: bool = False,
    reason: str = "",
    lifecycle: Any = None,
) -> Fired[Record]:
    """`fire`, awaited; the same arguments, answers and errors."""
    return await sync_to_async(firing.fire)(
        record,
        transition,
        actor=actor,
        input=input,
        request_id=request_id,
        expect_version=expect_version,
        expect_changed_before=expect_changed_before,
        manual=manual,
        reason=reason,
        lifecycle=lifecycle,
    )


async def afire_many(
    subjects: Subjects[Record],
    transition: Transition | str,
    *,
    actor: Any,
    input: Mapping[str, Any] | None = None,
    manual: bool = False,
    reason: str = "",
    request_id: Callable[[Any], str] | None = None,
    batch_size: int = batch.BATCH_SIZE,
    lifecycle: Any = None,
) -> BatchReport[Record]:
    """`fire_many`, awaited; the same arguments, answers and errors."""
    return await sync_to_async(batch.fire_many)(
        subjects,
        transition,
        actor=actor,
        input=input,
        manual=manual,
        reason=reason,
        request_id=request_id,
        batch_size=batch_size,
        lifecycle=lifecycle,
    )


async def acan(
    record: Any,
    transition: Transition | str,
    *,
    actor: Any,
    input: Mapping[str, Any] | None = None,
    manual: bool = False,
    lifecycle: Any = None,
) -> Verdict:
    """`can`, awaited; guards may ask the database."""
    return await sync_to_async(asking.can)(
        record, transition, actor=actor, input=input, manual=manual, lifecycle=lifecycle
    )


async def aavailable(record: Any, *, actor: Any, **options: Any) -> list[Availability]:
    """`available`, awaited."""
    return await sync_to_async(asking.available)(record, actor=actor, **options)


async def aview(
    record: Record, *, actor: Any, lifecycle: Any = None, history: int = 50, runs: int = 50
) -> RecordView[Record]:
    """`view`, awaited."""
    return await sync_to_async(viewing.view)(record, actor=actor, lifecycle=lifecycle, history=history, runs=runs)
