"""Stuck: the queries for what does not get on by itself — work nobody does, and records in states that are over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, Q

from lifecycle.definition.compiled import Definition
from lifecycle.models.due import Literal
from lifecycle.models.record_ids import outer_record_id
from lifecycle.models.run import FollowUp, Run, RunKind, RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Strange:
    """Records of one lifecycle in a state that is unknown to it, or deprecated."""

    state: str
    count: int
    deprecated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A queue with runs that are due for too long."""

    queue: str
    count: int
    since: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An effect that runs without an outcome name, and how many they are."""

    lifecycle: str
    effect: str
    count: int


def _runs(using: str, lifecycles: Collection[str] | None) -> Any:
    rows = Run.objects.using(using).order_by()
    return rows if lifecycles is None else rows.filter(lifecycle__in=lifecycles)


def overdue(using: str, before: dt.datetime, lifecycles: Collection[str] | None = None) -> Any:
    """Queued runs that were due before a moment."""
    return _runs(using, lifecycles).filter(status=Literal(RunStatus.QUEUED.value), available_at__lt=before)


def overdue_queues(rows: Any) -> list[Waiting]:
    """The same, counted by queue."""
    found = rows.values_list("queue").annotate(Count("id"), Min("available_at")).order_by("queue")
    return [Waiting(queue=queue, count=count, since=since) for queue, count, since in found]


def left_leases(using: str, before: dt.datetime, lifecycles: Collection[str] | None = None) -> Any:
    """Runs whose worker stopped renewing its lease before a moment, and that nobody took back."""
    return _runs(using, lifecycles).filter(lease_until__isnull=False, lease_until__lt=before)


def dead(using: str, lifecycles: Collection[str] | None = None) -> Any:
    """Runs whose every start crashed, where no transition followed: what they stood for is still to be done."""
    return _runs(using, lifecycles).filter(status=RunStatus.DEAD, follow_up=FollowUp.NONE)


def abandoned(using: str, lifecycles: Collection[str] | None = None) -> Any:
    """Runs with an outcome whose follow-up was refused until it was given up."""
    return _runs(using, lifecycles).filter(follow_up=FollowUp.ABANDONED)


def blocked(using: str, lifecycles: Collection[str] | None = None) -> Any:
    """Runs with an outcome whose follow-up was refused at least once and is tried again."""
    return _runs(using, lifecycles).filter(follow_up=Literal(FollowUp.PENDING.value)).exclude(follow_up_error="")


def pending(using: str, lifecycles: Collection[str] | None = None) -> Iterator[Pending]:
    """Every effect that something is still to come of: a run to be done, or an outcome whose follow-up waits.

    Three statements, each along one of the small partial indexes: finished runs are not looked at.
    """
    rows = _runs(using, lifecycles).filter(kind=RunKind.EFFECT)
    counts: dict[tuple[str, str], int] = {}
    for part in (
        rows.filter(status=Literal(RunStatus.QUEUED.value)),
        rows.filter(lease_until__isnull=False),
        rows.filter(follow_up=Literal(FollowUp.PENDING.value)),
    ):
        for lifecycle, effect, count in part.values_list("lifecycle", "effect").annotate(Count("id")):
            counts[lifecycle, effect] = counts.get((lifecycle, effect), 0) + count
    for (lifecycle, effect), count in sorted(counts.items()):
        yield Pending(lifecycle=lifecycle, effect=effect, count=count)


def enqueued_by(using: str, lifecycle: str, effect: str) -> Any:
    """Those runs of one effect."""
    unfinished = Q(status__in=[RunStatus.QUEUED, RunStatus.RUNNING]) | Q(follow_up=FollowUp.PENDING)
    return _runs(using, [lifecycle]).filter(unfinished, effect=effect)


def strange_states(definition: Definition, using: str) -> list[Strange]:
    """The states of this lifecycle's records that they should not be in (any more); one statement."""
    usual = [name for name, state in definition.states.items() if not state.deprecated]
    rows = definition.model._base_manager.using(using).order_by().exclude(**{f"{definition.state_field}__in": usual})
    counted = rows.values_list(definition.state_field).annotate(Count("pk")).order_by(definition.state_field)
    return [
        Strange(state=str(state), count=count, deprecated=str(state) in definition.states) for state, count in counted
    ]


def in_state(definition: Definition, state: str, using: str) -> Any:
    """The records in one state, by their keys."""
    rows = definition.model._base_manager.using(using).filter(**{definition.state_field: state})
    return rows.order_by("pk")


def left_alone(definition: Definition, state: str, effects: Collection[str], using: str) -> Any:
    """The records in a state whose way on, a run of one of these effects, was cancelled or failed in this very stay.

    Nothing else of these effects is under way for them. Runs that are dead, or whose follow-up was given up, are
    findings of their own.
    """
    rows = definition.model._base_manager.using(using).filter(**{definition.state_field: state})
    of_stay = Run.objects.using(using).filter(
        Q(stay_version__isnull=True) | Q(stay_version=OuterRef(definition.version_field)),
        lifecycle=definition.name,
        record_id=outer_record_id(definition.model, using),
        effect__in=list(effects),
    )
    over = of_stay.filter(
        status__in=[RunStatus.CANCELLED, RunStatus.FAILED],
        follow_up=FollowUp.NONE,
        finished_at__gte=OuterRef(definition.changed_at_field),
    )
    under_way = of_stay.filter(
        Q(status__in=[RunStatus.QUEUED, RunStatus.RUNNING]) | Q(follow_up__in=[FollowUp.PENDING, FollowUp.ABANDONED])
    )
    return rows.filter(Exists(over), ~Exists(under_way)).order_by("pk")


def finished(
    using: str,
    *,
    statuses: Collection[str],
    lifecycle: str | None = None,
    effect: str | None = None,
    record_id: str | None = None,
    error_code: str | None = None,
    before: dt.datetime | None = None,
) -> Any:
    """Runs that came to an end in one of these ways, oldest first; None: whatever it is."""
    given = {
        "lifecycle": lifecycle,
        "effect": effect,
        "record_id": record_id,
        "error_code": error_code,
        "finished_at__lt": before,
    }
    conditions = {name: value for name, value in given.items() if value is not None}
    rows = Run.objects.using(using).filter(status__in=list(statuses), **conditions)
    return rows.order_by("id")


# What an outcome may have led to without the record having moved by it: such a run may simply run again.
UNSETTLED = (FollowUp.NONE, FollowUp.DROPPED)
