"""Continue: an operator has a waiting or abandoned follow-up tried now; the effect does not run again."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from lifecycle.actors import as_actor
from lifecycle.exceptions import NothingToContinue
from lifecycle.execution import follow_ups
from lifecycle.models import FollowUp, Run, RunStatus
from lifecycle.operations import preconditions
from lifecycle.store import operator_actions, timing


def continue_run(run: Run, *, actor: Any, reason: str = "") -> Run:
    """Tries a run's follow-up once, now; an abandoned one too.

    Args:
        run: the run; its row is read again.
        actor: who asks; required. The follow-up itself is fired by the system, as ever.
        reason: why. Kept in the audit row.

    Returns:
        The run as it now is: its follow-up applied, or dropped because the record moved on.

    Raises:
        NothingToContinue: no follow-up waits or was abandoned.
        UnknownEffect: this process does not know the effect.
        LifecycleError: what refused the follow-up; the try is counted and audited, the follow-up stays as it was.
    """
    who, why, using = as_actor(actor), preconditions.checked_reason(reason, force=False), preconditions.alias(run)
    with transaction.atomic(using=using):
        seen = operator_actions.read_run(run.pk, using)
        if seen is None:
            raise preconditions.gone(run)
        preconditions.refuse_of_flow(seen)
        preconditions.known_effect(seen)
        tried = follow_ups.apply(seen.pk, using, by_operator=True)
        if tried.status is None:
            said = _(
                "This run has no follow-up that waits (status: %(status)s, follow-up: %(follow_up)s). To run the "
                "effect again, retry the run."
            )
            facts = {"status": RunStatus(seen.status).label, "follow_up": FollowUp(seen.follow_up).label}
            raise NothingToContinue(
                said % facts,
                lifecycle=seen.lifecycle,
                record_id=seen.record_id,
                run_id=seen.pk,
            )
        operator_actions.record(
            "continue", seen, actor=who, reason=why, forced=False, now=timing.now(using), using=using
        )
    # After the commit: the try and its audit row stay, whatever the transition said.
    if tried.error is not None and tried.status in (FollowUp.PENDING, FollowUp.ABANDONED):
        raise tried.error
    fresh = operator_actions.read_run(run.pk, using)
    if fresh is None:
        raise preconditions.gone(run)
    return fresh
