"""Pruning of flows: those that ended long enough ago are deleted whole; running ones never are."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import connections, transaction
from django.db.models import Q

from lifecycle.models import (
    ChannelMessage,
    FlowEvent,
    FlowRun,
    FlowStatus,
    Run,
    RunAttempt,
    StepExecution,
    WaitCondition,
)
from lifecycle.store.pruning import Retention, old_enough

# The rows of a flow, in an order in which none refers to one that is gone.
_PARTS = (WaitCondition, FlowEvent, ChannelMessage)


def prune(retention: Retention, now: dt.datetime, using: str, *, size: int = 100, delete: bool = True) -> int:
    """Deletes up to so many flows with everything that is theirs; answers how many. Safe to run twice at once."""
    features = connections[using].features
    with transaction.atomic(using=using):
        rows: Any = FlowRun.objects.using(using).filter(_ended(retention, now)).order_by("finished_at")
        if not delete:
            return int(rows.count())
        if features.has_select_for_update:
            rows = rows.select_for_update(skip_locked=features.has_select_for_update_skip_locked)
        flows = [flow.pk for flow in rows[:size]]
        RunAttempt.objects.using(using).filter(run__flow__in=flows).delete()
        Run.objects.using(using).filter(flow__in=flows)._raw_delete(using)
        for part in _PARTS:
            part._base_manager.using(using).filter(flow__in=flows)._raw_delete(using)
        StepExecution.objects.using(using).filter(flow__in=flows)._raw_delete(using)
        FlowRun.objects.using(using).filter(pk__in=flows)._raw_delete(using)
    return len(flows)


def _ended(retention: Retention, now: dt.datetime) -> Q:
    return old_enough(retention, now, good=[FlowStatus.COMPLETED, FlowStatus.CANCELLED], bad=[FlowStatus.FAILED])
