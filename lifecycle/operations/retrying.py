"""Retry: an operator has a finished run's effect run again."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from lifecycle import conf
from lifecycle.actors import as_actor
from lifecycle.dispatch import after_commit
from lifecycle.exceptions import RunBusy
from lifecycle.models import EffectRun, FollowUp, RunStatus
from lifecycle.operations import preconditions
from lifecycle.store import operator_actions, timing

_LED_SOMEWHERE = {
    FollowUp.APPLIED: "Its follow-up has been applied: the record moved on with this outcome.",
    FollowUp.PENDING: "Its follow-up waits and will be tried again; continue the run to try it now.",
    FollowUp.ABANDONED: "Its follow-up was abandoned; continue the run to try it again.",
}


def retry_run(run: EffectRun, *, actor: Any, reason: str = "", force: bool = False) -> EffectRun:
    """Queues a failed, dead or cancelled run again, with fresh attempts, under the same idempotency key.

    Args:
        run: the run; its row is read again under a lock.
        actor: who asks; required.
        reason: why; required with force. Kept in the audit row.
        force: also a run whose outcome already led somewhere, and one a worker holds (which then loses its lease).
            If a forced run fails again, its follow-up is not fired a second time.

    Returns:
        The run as it now is.

    Raises:
        RunBusy: a worker holds it, or it is queued anyway.
        RunSettled: it succeeded, or its outcome already led somewhere.
        UnknownEffect: this process does not know the effect.
        InvalidInput: the reason is missing or does not fit.
    """
    who, why, using = as_actor(actor), preconditions.checked_reason(reason, force=force), preconditions.alias(run)
    with transaction.atomic(using=using):
        locked = operator_actions.lock_run(run.pk, using)
        if locked is None:
            raise preconditions.gone(run)
        now = timing.now(using)
        _, effect = preconditions.known_effect(locked)
        if locked.status == RunStatus.QUEUED:
            raise RunBusy(
                f"Run {locked.pk} is queued already, due {locked.available_at:%Y-%m-%d %H:%M:%S} UTC: "
                "there is nothing to retry. Wait for it, or cancel it.",
                code="run_queued",
                lifecycle=locked.lifecycle,
                record_id=locked.record_id,
                run_id=locked.pk,
            )
        preconditions.refuse_while_leased(locked, now, force=force, verb="retry")
        if locked.status == RunStatus.SUCCEEDED:
            raise preconditions.settled(
                locked,
                f"Run {locked.pk} succeeded; it is not run again. "
                "Fire the transition that enqueues this effect instead.",
            )
        led = _LED_SOMEWHERE.get(FollowUp(locked.follow_up))
        if led is not None and not force:
            raise preconditions.settled(
                locked, f"Run {locked.pk} is settled. {led} To run the effect again all the same: force, with a reason."
            )
        operator_actions.requeue(locked, effect.retry.attempts, conf.options().max_crashes, now, using)
        operator_actions.record("retry", locked, actor=who, reason=why, forced=force, now=now, using=using)
        after_commit.wake(using, [locked.queue])
        locked.refresh_from_db(using=using)
        return locked
