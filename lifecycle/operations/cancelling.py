"""Cancel: an operator ends a run that has no outcome yet."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle.actors import as_actor
from lifecycle.models import Run, RunStatus
from lifecycle.operations import preconditions
from lifecycle.store import operator_actions, timing

_WITH_FORCE = gettext_lazy("Wait for it, or cancel it with force and a reason.")


def cancel_run(run: Run, *, actor: Any, reason: str = "", force: bool = False) -> Run:
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
        preconditions.refuse_of_flow(locked)
        now = timing.now(using)
        if locked.status not in (RunStatus.QUEUED, RunStatus.RUNNING):
            said = _(
                "This run is finished (%(status)s); there is nothing left to cancel. What it led to is undone by a "
                "transition of the record, not here."
            )
            raise preconditions.settled(locked, said % {"status": RunStatus(locked.status).label})
        preconditions.refuse_while_leased(locked, now, _WITH_FORCE, force=force)
        operator_actions.cancel(locked, now, using)
        operator_actions.record("cancel", locked, actor=who, reason=why, forced=force, now=now, using=using)
        locked.refresh_from_db(using=using)
        return locked
