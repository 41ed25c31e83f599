"""Precondition: what every operator action asks first — the run meant, the actor, the reason, the refusals."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import router

from lifecycle import registry
from lifecycle.definition.compiled import CompiledEffect, Definition
from lifecycle.exceptions import InvalidInput, RunBusy, RunSettled, UnknownEffect
from lifecycle.models import EffectRun, RunStatus
from lifecycle.payloads import unstorable
from lifecycle.refusals import InputProblem

REASON_LIMIT = 500


def alias(run: EffectRun) -> str:
    """Where the run's row is written."""
    return run._state.db or router.db_for_write(EffectRun, instance=run)


def checked_reason(reason: Any, *, force: bool) -> str:
    """The reason as it is stored.

    Raises:
        InvalidInput: it is no text, too long, or missing where force needs one.
    """
    if not isinstance(reason, str):
        problem = f"expected a text, got {type(reason).__name__}."
    elif len(reason) > REASON_LIMIT:
        problem = f"{len(reason)} characters, at most {REASON_LIMIT} are kept."
    elif (found := unstorable(reason)) is not None:
        problem = f"holds {found}."
    elif force and not reason.strip():
        problem = "force needs a reason: say why the run may be touched all the same."
    else:
        return reason.strip()
    raise InvalidInput(f"reason: {problem}", problems=[InputProblem(field="reason", code="invalid", message=problem)])


def known_effect(run: EffectRun) -> tuple[Definition, CompiledEffect]:
    """What this process knows about the run's effect.

    Raises:
        UnknownEffect: it does not know it, so a run queued from here might wait for ever.
    """
    definition = registry.find(run.lifecycle)
    effect = definition.effects.get(run.effect) if definition is not None else None
    if definition is None or effect is None:
        raise UnknownEffect(
            f"This process knows no effect '{run.effect}' of a lifecycle '{run.lifecycle}'. "
            "Deploy the code that declares it, then try again.",
            lifecycle=run.lifecycle,
            record_id=run.record_id,
            run_id=run.pk,
        )
    return definition, effect


def gone(run: EffectRun) -> RunSettled:
    """The error that the run's row is no longer there (retention)."""
    return RunSettled(f"Run {run.pk} is gone: finished runs are kept for a limited time.", run_id=run.pk)


def refuse_while_leased(run: EffectRun, now: dt.datetime, *, force: bool, verb: str) -> None:
    """A run in a worker's hands is touched only by force.

    Raises:
        RunBusy: a live lease is on it.
    """
    if run.status != RunStatus.RUNNING or force or run.lease_until is None or run.lease_until <= now:
        return
    raise RunBusy(
        f"Run {run.pk} is being worked on by {run.leased_by} (lease until {run.lease_until:%Y-%m-%d %H:%M:%S} UTC). "
        f"Wait for it, or {verb} it with force and a reason: the worker's outcome is then discarded, "
        "but what its effect did outside stays done.",
        lifecycle=run.lifecycle,
        record_id=run.record_id,
        run_id=run.pk,
    )


def settled(run: EffectRun, sentence: str) -> RunSettled:
    """The error that the run's outcome stands."""
    return RunSettled(sentence, lifecycle=run.lifecycle, record_id=run.record_id, run_id=run.pk)
