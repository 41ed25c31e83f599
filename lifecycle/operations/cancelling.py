"""Cancel: an operator ends a run that has no outcome yet."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from lifecycle.actors import as_actor
from lifecycle.models import EffectRun, RunStatus
from lifecycle.operations import preconditions
from lifecycle.store import operator_actions, timing


def cancel_run(run: EffectRun, *, actor: Any, reason: str = "", force: bool = False) -> EffectRun:
    """Cancels a queued run; with force also one a worker holds. Nothing follows a cancelled run.

    Args:
        run: the run; its row is read again under a lock.
        actor: who asks; required.
        reason: why; required with force. Kept in the audit row.
        force: take it from its worker, whose outcome is then discarded (what its effect did outside stays done).

    Returns:
        The run as it now is.

    Raises:
        RunBusy: a worker holds it.
        RunSettled: it is finished already.
        InvalidInput: the reason is missing or does not fit.
    """
    who, why, using = as_actor(actor), preconditions.checked_reason(reason, force=force), preconditions.alias(run)
    with transaction.atomic(using=using):
        locked = operator_actions.lock_run(run.pk, using)
        if locked is None:
            raise preconditions.gone(run)
        now = timing.now(using)
        if locked.status not in (RunStatus.QUEUED, RunStatus.RUNNING):
            raise preconditions.settled(
                locked,
                f"Run {locked.pk} is finished ({locked.status}); there is nothing left to cancel. "
                "What it led to is undone by a transition of the record, not here.",
            )
        preconditions.refuse_while_leased(locked, now, force=force, verb="cancel")
        operator_actions.cancel(locked, now, using)
        operator_actions.record("cancel", locked, actor=who, reason=why, forced=force, now=now, using=using)
        locked.refresh_from_db(using=using)
        return locked
