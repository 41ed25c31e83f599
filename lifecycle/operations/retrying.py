"""Retry: an operator has a finished run's effect run again."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle import conf
from lifecycle.actors import as_actor
from lifecycle.dispatch import after_commit
from lifecycle.exceptions import RunBusy
from lifecycle.models import FollowUp, Run, RunStatus
from lifecycle.operations import preconditions
from lifecycle.store import operator_actions, timing

_LED_SOMEWHERE = {
    FollowUp.APPLIED: gettext_lazy("Its follow-up has been applied: the record moved on with this outcome."),
    FollowUp.PENDING: gettext_lazy("Its follow-up waits and will be tried again; to try it now, use Continue."),
    FollowUp.ABANDONED: gettext_lazy("Its follow-up was abandoned; to try it again, use Continue."),
}
_WITH_FORCE = gettext_lazy("Wait for it, or retry it with force and a reason.")


def retry_run(run: Run, *, actor: Any, reason: str = "", force: bool = False) -> Run:
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
        preconditions.refuse_of_flow(locked)
        now = timing.now(using)
        effect = preconditions.known_effect(locked)
        if locked.status == RunStatus.QUEUED:
            raise RunBusy(
                _("This run is queued already, due %(time)s UTC: there is nothing to retry. Wait for it, or cancel it.")
                % {"time": f"{locked.available_at:%Y-%m-%d %H:%M:%S}"},
                code="run_queued",
                lifecycle=locked.lifecycle,
                record_id=locked.record_id,
                run_id=locked.pk,
            )
        preconditions.refuse_while_leased(locked, now, _WITH_FORCE, force=force)
        if locked.status == RunStatus.SUCCEEDED:
            raise preconditions.settled(locked, _succeeded(locked))
        led = _LED_SOMEWHERE.get(FollowUp(locked.follow_up))
        if led is not None and not force:
            said = _("This run is settled. %(why)s To run the effect again all the same: force, with a reason.")
            raise preconditions.settled(locked, said % {"why": led})
        operator_actions.requeue(locked, effect.retry.attempts, conf.options().max_crashes, now, using)
        operator_actions.record("retry", locked, actor=who, reason=why, forced=force, now=now, using=using)
        after_commit.wake(using, [locked.queue])
        locked.refresh_from_db(using=using)
        return locked


def _succeeded(run: Run) -> str:
    """Why a run that succeeded is not run again, and what to do instead."""
    if run.follow_up in (FollowUp.PENDING, FollowUp.ABANDONED):
        return _("This run succeeded; it is not run again. What is left to do is its follow-up: use Continue.")
    return _("This run succeeded; it is not run again. Fire the transition that enqueues this effect instead.")
