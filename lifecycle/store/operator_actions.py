"""Operator's writes: a run queued again or cancelled by a person, and the audit row beside it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import connections
from django.db.models import F

from lifecycle import payloads
from lifecycle.actors import Actor
from lifecycle.models import FollowUp, OperatorAction, Run, RunStatus


def lock_run(run_id: int, using: str) -> Run | None:
    """Locks a run's row until the transaction ends; None when there is no such run."""
    rows = Run.objects.using(using).filter(pk=run_id)
    if connections[using].features.has_select_for_update:
        rows = rows.select_for_update()
    found: Run | None = rows.first()
    return found


def read_run(run_id: int, using: str) -> Run | None:
    """The run as it is now."""
    found: Run | None = Run.objects.using(using).filter(pk=run_id).first()
    return found


def requeue(run: Run, attempts: int | None, crashes: int, now: dt.datetime, using: str) -> None:
    """Queues a locked run again: fresh attempts and crashes on top of those spent, a new fence, no outcome.

    The checkpoint and the idempotency key stay: it is the same work.
    """
    _write(
        run,
        now,
        using,
        status=RunStatus.QUEUED,
        available_at=now,
        max_attempts=None if attempts is None else run.attempts + attempts,
        retry_base=run.attempts,
        max_crashes=run.crashes + crashes,
        started_at=None,
        first_started_at=None,
        finished_at=None,
        outcome="",
        result=None,
        error_kind="",
        error_code="",
        error="",
        error_details=None,
        follow_up=FollowUp.NONE,
        follow_up_due_at=None,
        follow_up_tries=0,
        follow_up_error="",
    )


def cancel(run: Run, now: dt.datetime, using: str) -> None:
    """Ends a locked run that has no outcome yet; a worker still inside loses the fence."""
    _write(run, now, using, status=RunStatus.CANCELLED, finished_at=now)


def record(
    action: str,
    run: Run,
    *,
    actor: Actor,
    reason: str,
    forced: bool,
    now: dt.datetime,
    using: str,
) -> OperatorAction:
    """Writes who did what to a run and how it was before; must stand in the transaction of the operator action."""
    row: OperatorAction = OperatorAction.objects.using(using).create(
        action=action,
        lifecycle=run.lifecycle,
        record_id=run.record_id,
        run_id=run.pk,
        forced=forced,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_label=actor.label[:150],
        reason=reason,
        before=_facts(run),
        at=now,
    )
    return row


def note(
    action: str,
    *,
    lifecycle: str,
    record_id: str = "",
    actor: Actor,
    reason: str,
    before: dict[str, Any],
    now: dt.datetime,
    using: str,
) -> OperatorAction:
    """Writes who did what to something that is no run; must stand in the transaction of the operator action."""
    row: OperatorAction = OperatorAction.objects.using(using).create(
        action=action,
        lifecycle=lifecycle,
        record_id=record_id,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_label=actor.label[:150],
        reason=reason,
        before=payloads.jsonable(before, what="audit row"),
        at=now,
    )
    return row


def _facts(run: Run) -> dict[str, Any]:
    facts: dict[str, Any] = payloads.jsonable(
        {
            "status": str(run.status),
            "attempts": run.attempts,
            "max_attempts": run.max_attempts,
            "crashes": run.crashes,
            "leased_by": run.leased_by,
            "lease_until": run.lease_until,
            "outcome": str(run.outcome),
            "error_kind": run.error_kind,
            "error_code": run.error_code,
            "error": run.error,
            "follow_up": str(run.follow_up),
            "follow_up_error": run.follow_up_error,
        },
        what="audit row",
    )
    return facts


def _write(run: Run, now: dt.datetime, using: str, **values: Any) -> None:
    Run.objects.using(using).filter(pk=run.pk).update(
        fence=F("fence") + 1, lease_until=None, leased_by="", updated_at=now, **values
    )
