"""Pending follow-up: what became of the transition that an outcome asked for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.db import connections
from django.db.models import F

from lifecycle.models import FollowUp, Run


def lock(run_id: int, using: str, states: Sequence[str]) -> Run | None:
    """Locks a run whose follow-up is in one of the states; None when it is not (any more).

    The record's lock comes first (lock order: record, then run).
    """
    rows = Run.objects.using(using).filter(pk=run_id, follow_up__in=states)
    if connections[using].features.has_select_for_update:
        rows = rows.select_for_update()
    return rows.first()


def applied(run_id: int, now: dt.datetime, using: str) -> bool:
    """The follow-up's entry is written, in this transaction."""
    return _settle(run_id, now, using, follow_up=FollowUp.APPLIED, follow_up_due_at=None, follow_up_error="")


def dropped(run_id: int, reason: str, now: dt.datetime, using: str) -> bool:
    """The record moved on; what the follow-up wanted no longer applies."""
    return _settle(run_id, now, using, follow_up=FollowUp.DROPPED, follow_up_due_at=None, follow_up_error=reason)


def none(run_id: int, now: dt.datetime, using: str) -> bool:
    """The definition asks for nothing after this outcome (any more)."""
    return _settle(run_id, now, using, follow_up=FollowUp.NONE, follow_up_due_at=None, follow_up_error="")


def postponed(run_id: int, due_at: dt.datetime, reason: str, now: dt.datetime, using: str, *, refused: bool) -> bool:
    """The follow-up is tried again later. Only refusals are counted towards giving up."""
    values: dict[str, Any] = {"follow_up_tries": F("follow_up_tries") + 1} if refused else {}
    return _settle(run_id, now, using, follow_up_due_at=due_at, follow_up_error=reason, **values)


def abandoned(run_id: int, reason: str, now: dt.datetime, using: str) -> bool:
    """Nobody tries it any more by itself; an operator may."""
    return _settle(
        run_id,
        now,
        using,
        follow_up=FollowUp.ABANDONED,
        follow_up_due_at=None,
        follow_up_error=reason,
        follow_up_tries=F("follow_up_tries") + 1,
    )


def _settle(run_id: int, now: dt.datetime, using: str, **values: Any) -> bool:
    # The run's row is locked by this transaction; the condition is the second pair of eyes.
    rows = Run.objects.using(using).filter(pk=run_id, follow_up__in=[FollowUp.PENDING, FollowUp.ABANDONED])
    return bool(rows.update(updated_at=now, **values))


def first_try(follow_up: bool, now: dt.datetime) -> dict[str, Any]:
    return {
        "follow_up": FollowUp.PENDING if follow_up else FollowUp.NONE,
        "follow_up_due_at": now if follow_up else None,
        "follow_up_tries": 0,
        "follow_up_error": "",
    }
