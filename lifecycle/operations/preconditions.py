"""Precondition: what every operator action asks first — the run meant, the actor, the reason, the refusals."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import router
from django.utils.translation import gettext as _

from lifecycle import registry
from lifecycle.definition.compiled import CompiledEffect
from lifecycle.exceptions import InvalidInput, RunBusy, RunSettled, UnknownEffect
from lifecycle.models import Run, RunKind, RunStatus
from lifecycle.payloads import unstorable
from lifecycle.refusals import InputProblem

REASON_LIMIT = 500


def alias(run: Run) -> str:
    """Where the run's row is written."""
    return run._state.db or router.db_for_write(Run, instance=run)


def checked_reason(reason: Any, *, force: bool) -> str:
    """The reason as it is stored.

    Raises:
        InvalidInput: it is no text, too long, or missing where force needs one.
    """
    if not isinstance(reason, str):
        problem = _("The reason is no text.")
    elif len(reason) > REASON_LIMIT:
        facts = {"n": len(reason), "most": REASON_LIMIT}
        problem = _("The reason has %(n)s characters; at most %(most)s are kept.") % facts
    elif unstorable(reason) is not None:
        problem = _("The reason holds a character that databases refuse.")
    elif force and not reason.strip():
        problem = _("Force needs a reason: say why the run may be touched all the same.")
    else:
        return reason.strip()
    raise InvalidInput(problem, problems=[InputProblem(field="reason", code="invalid", message=problem)])


def known_effect(run: Run) -> CompiledEffect:
    """What this process knows about the run's effect.

    Raises:
        UnknownEffect: it does not know it, so a run queued from here might wait for ever.
    """
    definition = registry.find(run.lifecycle)
    effect = definition.effects.get(run.effect) if definition is not None else None
    if effect is None:
        said = _(
            "This process has no code for the effect “%(effect)s” of the lifecycle “%(lifecycle)s”. Deploy it, then "
            "try again."
        )
        raise UnknownEffect(
            said % {"effect": run.effect, "lifecycle": run.lifecycle},
            lifecycle=run.lifecycle,
            record_id=run.record_id,
            run_id=run.pk,
        )
    return effect


def refuse_of_flow(run: Run) -> None:
    """Runs of flows are the flow's own business: one that is taken away leaves a flow that can never go on.

    Raises:
        RunSettled: the run belongs to a flow.
    """
    if run.kind != RunKind.EFFECT:
        raise settled(
            run, _("This run belongs to a flow, which enqueues its work itself: stop the flow, or let it go on.")
        )


def gone(run: Run) -> RunSettled:
    """The error that the run's row is no longer there (retention)."""
    return RunSettled(_("This run is gone: finished runs are kept for a limited time."), run_id=run.pk)


def refuse_while_leased(run: Run, now: dt.datetime, advice: Any, *, force: bool) -> None:
    """A run in a worker's hands is touched only by force, as the ``advice`` says.

    Raises:
        RunBusy: a live lease is on it.
    """
    if run.status != RunStatus.RUNNING or force or run.lease_until is None or run.lease_until <= now:
        return
    said = _(
        "%(worker)s is working on this run (lease until %(time)s UTC). %(advice)s With force the worker's outcome is "
        "discarded, but what its effect did outside stays done."
    )
    raise RunBusy(
        said % {"worker": run.leased_by, "time": f"{run.lease_until:%Y-%m-%d %H:%M:%S}", "advice": advice},
        lifecycle=run.lifecycle,
        record_id=run.record_id,
        run_id=run.pk,
    )


def settled(run: Run, sentence: str) -> RunSettled:
    """The error that the run's outcome stands."""
    return RunSettled(sentence, lifecycle=run.lifecycle, record_id=run.record_id, run_id=run.pk)
