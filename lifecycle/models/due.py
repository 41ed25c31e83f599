"""Due: the queries for what time has made due — each ordered as its index, each costing what is due, not what waits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.db import models
from django.db.models import Count, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact
from django.utils import timezone

from lifecycle.definition.compiled import CompiledDeadline, CompiledTimeout, Definition
from lifecycle.models.record_ids import outer_record_id
from lifecycle.models.run import FollowUp, Run, RunStatus
from lifecycle.models.trigger_hold import TriggerHold

DUE_AT = "_lifecycle_due_at"


class Literal(Value):
    """A value written into the SQL text: SQLite uses a partial index only when it can read the condition there."""

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        # Only names of our own enums come here; they hold no quotes.
        return f"'{self.value}'", ()


def _queued(using: str) -> Any:
    return Run.objects.using(using).filter(status=Literal(RunStatus.QUEUED.value))


# Runs -------------------------------------------------------------------------------------------


def work_for(workers: int, queue: str, using: str, now: Any) -> bool:
    """Whether a queue holds due runs for so many workers at once. ``now`` is a moment or the database's own clock."""
    ids = _queued(using).filter(queue=queue, available_at__lte=now).order_by("available_at", "id").values("id")
    return len(ids[:workers]) == workers


def queue_heads(using: str) -> Iterator[tuple[str, dt.datetime]]:
    """Each queue with queued runs, and when its first one is (or was) due.

    Hops from queue to queue along the index: one step each, however many runs a queue holds.
    """
    row = _queued(using).order_by("queue", "available_at", "id").values_list("queue", "available_at").first()
    while row is not None:
        yield row
        rest = _queued(using).filter(queue__gt=row[0]).order_by("queue", "available_at", "id")
        row = rest.values_list("queue", "available_at").first()


def pending_follow_ups(using: str, now: dt.datetime, after: tuple[dt.datetime, int] | None = None) -> Any:
    """Runs whose outcome is recorded and whose follow-up is due for another try, longest due first."""
    rows = Run.objects.using(using).filter(
        follow_up=Literal(FollowUp.PENDING.value), follow_up_due_at__lte=now
    )  # fmt: skip
    return _beyond(rows.order_by("follow_up_due_at", "id"), "follow_up_due_at", after)


# Triggers ---------------------------------------------------------------------------------------


def timeouts(
    definition: Definition,
    timeout: CompiledTimeout,
    state: str,
    *,
    changed_before: dt.datetime,
    now: dt.datetime,
    using: str,
    after: tuple[Any, Any] | None = None,
) -> Any:
    """Records that have stayed in ``state`` since before a moment and are not held, longest stay first.

    One state at a time: only then is the index on (state, changed_at) also the order.
    Yields rows ``(pk, version, changed_at)``.
    """
    changed_at = definition.changed_at_field
    rows = definition.model._base_manager.using(using).filter(
        **{definition.state_field: state, f"{changed_at}__lt": changed_before}
    )
    rows = rows.filter(_not_held(definition, timeout.name, now, using))
    rows = rows.order_by(changed_at, "pk").values_list("pk", definition.version_field, changed_at)
    return _beyond(rows, changed_at, after)


def deadlines(
    definition: Definition,
    deadline: CompiledDeadline,
    state: str,
    *,
    now: dt.datetime,
    using: str,
    after: tuple[Any, Any] | None = None,
) -> Any:
    """Records in ``state`` whose date has come and that are not held for it, earliest date first.

    A hold counts only for dates up to its own time: when the date is moved on, the new one is not held up.
    Yields rows ``(pk, version, date)``.
    """
    rows = _with_date(definition, deadline, using).filter(**{definition.state_field: state})
    moment: Any = now
    if _is_plain_date(rows.query.annotations[DUE_AT].output_field):
        moment = timezone.localdate(now, timezone.get_default_timezone())  # whatever zone is active
    rows = rows.filter(**{f"{DUE_AT}__lte": moment})
    rows = rows.filter(_not_held(definition, deadline.name, now, using, updated_at__gte=OuterRef(DUE_AT)))
    rows = rows.order_by(DUE_AT, "pk")
    return _beyond(rows.values_list("pk", definition.version_field, DUE_AT), DUE_AT, after)


def _with_date(definition: Definition, deadline: CompiledDeadline, using: str) -> Any:
    at = F(deadline.at) if isinstance(deadline.at, str) else deadline.at
    return definition.model._base_manager.using(using).annotate(**{DUE_AT: at})


def without_dates(definition: Definition, rows: Any) -> list[tuple[Any, int]]:
    """``(pk, version)`` of rows that `deadlines` found, for when one of their dates cannot be read."""
    return list(rows.values_list("pk", definition.version_field))


def dates_of(definition: Definition, deadline: CompiledDeadline, pk: Any, using: str) -> list[Any]:
    """The date of one record, as a list of one; of none when it is gone."""
    return list(_with_date(definition, deadline, using).filter(pk=pk).values_list(DUE_AT, flat=True))


def _is_plain_date(field: Any) -> bool:
    return isinstance(field, models.DateField) and not isinstance(field, models.DateTimeField)


def _not_held(definition: Definition, trigger: str, now: dt.datetime, using: str, **more: Any) -> Any:
    """Whether no hold keeps this trigger from being asked again for the outer row's stay.

    One probe of the unique index of holds for each due record, whatever the statistics say: a subquery with a value
    cannot become a join, and no other index of the table leads with what is asked. Under statistics from when the table
    was empty a planner would read all holds for each due record.
    """
    # The time stands in an expression, so that the index by time does not seem to fit either.
    holds = TriggerHold.objects.using(using).annotate(_lifecycle_until=Coalesce("retry_at", "retry_at"))
    mine = holds.filter(
        lifecycle=definition.name,
        trigger=trigger,
        record_id=outer_record_id(definition.model, using),
        version=OuterRef(definition.version_field),
        _lifecycle_until__gt=now,
        **more,
    )
    found = Subquery(mine.order_by().annotate(_lifecycle_one=Value(1)).values("_lifecycle_one")[:1])
    return Exact(Coalesce(found, 0), 0)


def _beyond(rows: Any, order: str, after: tuple[Any, Any] | None) -> Any:
    """Only what comes after this (order, pk): the rest of a pass. The next pass starts from the beginning again."""
    if after is None:
        return rows
    value, pk = after
    return rows.filter(Q(**{f"{order}__gte": value}), Q(**{f"{order}__gt": value}) | Q(pk__gt=pk))


# Gauges -----------------------------------------------------------------------------------------

# Counting stops here: "at least so many" says as much, and a backlog must not slow the pass that works on it.
COUNT_LIMIT = 10_000


def quick_counts(using: str, now: dt.datetime) -> dict[str, int]:
    """Counts that a partial index answers."""
    runs = Run.objects.using(using)
    leased = runs.filter(lease_until__isnull=False)
    pending = runs.filter(follow_up=Literal(FollowUp.PENDING.value), follow_up_due_at__isnull=False)
    return {
        "due": sum(
            _at_most(_queued(using).filter(queue=queue, available_at__lte=now), "available_at")
            for queue, first in list(queue_heads(using))
            if first <= now
        ),
        "running": _at_most(leased, "lease_until"),
        "lease_expired": _at_most(leased.filter(lease_until__lt=now), "lease_until"),
        "follow_ups_pending": _at_most(pending, "follow_up_due_at"),
        "held": _at_most(TriggerHold.objects.using(using), "pk"),
    }


def slow_counts(using: str) -> dict[str, int]:
    """Counts that read the whole table."""
    runs = Run.objects.using(using)
    stuck = runs.aggregate(
        dead=Count("id", filter=Q(status=RunStatus.DEAD)),
        failed=Count("id", filter=Q(status=RunStatus.FAILED)),
        follow_ups_abandoned=Count("id", filter=Q(follow_up=FollowUp.ABANDONED)),
    )
    return {name: int(count) for name, count in stuck.items()}


def _at_most(rows: Any, order: str) -> int:
    return int(rows.order_by(order).values(order)[:COUNT_LIMIT].count())
