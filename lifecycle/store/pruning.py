"""Pruning: finished runs are deleted after a while; entries, abandoned follow-ups and held leases never are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from django.db.models import Q, QuerySet

from lifecycle.models import FollowUp, Run, RunAttempt, RunStatus


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How long finished runs are kept; None: for ever."""

    succeeded: dt.timedelta | None
    failed: dt.timedelta | None


@dataclass(frozen=True, kw_only=True)
class Window:
    """What one batch did: how many runs it deleted, and the id to go on from (None: the end is reached)."""

    deleted: int
    go_on_from: int | None


def prune(
    retention: Retention, now: dt.datetime, using: str, *, after_id: int = 0, size: int = 500, delete: bool = True
) -> Window:
    """Looks at the next ``size`` runs in the order of their ids and deletes those that are old enough.

    By id, because ids grow with age and no index on ``finished_at`` has to be paid for by every finish. The end is
    reached at the first window that begins too young. Safe to run twice at once.
    """
    rows = Run.objects.using(using)
    window = list(rows.filter(pk__gt=after_id).order_by("pk").values_list("pk", "created_at")[:size])
    youngest = _youngest(retention, now)
    if not window or youngest is None or window[0][1] > youngest:
        return Window(deleted=0, go_on_from=None)
    old = rows.filter(pk__gt=after_id, pk__lte=window[-1][0]).filter(_prunable(retention, now))
    deleted = _delete(old, using) if delete else old.count()
    return Window(deleted=deleted, go_on_from=window[-1][0] if len(window) == size else None)


def _delete(old: QuerySet[Any], using: str) -> int:
    """Deletes runs that still answer the condition when they are locked: an operator may just have had one run again.

    Rows that somebody holds are left for the next pass. On SQLite the transaction holds the only lock there is.
    """
    features = connections[using].features
    with transaction.atomic(using=using):
        if features.has_select_for_update:
            old = old.select_for_update(skip_locked=features.has_select_for_update_skip_locked)
        locked = list(old.values_list("pk", flat=True))
        RunAttempt.objects.using(using).filter(run__in=locked).delete()
        Run.objects.using(using).filter(pk__in=locked)._raw_delete(using)
        return len(locked)


def old_enough(retention: Retention, now: dt.datetime, *, good: Sequence[str], bad: Sequence[str]) -> Q:
    """Rows that ended well, or badly, for longer than such rows are kept."""
    old = Q(pk__in=[])
    if retention.succeeded is not None:
        old |= Q(status__in=good, finished_at__lt=now - retention.succeeded)
    if retention.failed is not None:
        old |= Q(status__in=bad, finished_at__lt=now - retention.failed)
    return old


def _prunable(retention: Retention, now: dt.datetime) -> Q:
    good, bad = [RunStatus.SUCCEEDED, RunStatus.CANCELLED], [RunStatus.FAILED, RunStatus.DEAD]
    old = old_enough(retention, now, good=good, bad=bad)
    return old & ~Q(follow_up__in=[FollowUp.PENDING, FollowUp.ABANDONED])


def _youngest(retention: Retention, now: dt.datetime) -> dt.datetime | None:
    """No run made after this moment can be old enough."""
    ages = [age for age in (retention.succeeded, retention.failed) if age is not None]
    return now - min(ages) if ages else None
