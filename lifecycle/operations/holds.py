"""Hold, lifted by a person: a refused timeout or deadline asked again at the next tick, or tried at once."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db import router, transaction
from django.utils.translation import gettext as _

from lifecycle import registry
from lifecycle.actors import as_actor
from lifecycle.definition.compiled import CompiledDeadline, CompiledTimeout, Definition
from lifecycle.exceptions import Conflict, GuardRefused, NothingToContinue, UnknownLifecycle
from lifecycle.models import TriggerHold, due
from lifecycle.operations import preconditions
from lifecycle.store import holds, operator_actions, parameters, records, timing
from lifecycle.sweeps import deadlines, triggers
from lifecycle.sweeps.passes import Pass

RELEASE, FIRE = "release_hold", "fire_held"


def release_hold(hold: TriggerHold, *, actor: Any, reason: str = "") -> None:
    """Ends the pause of a refused trigger: the next tick asks it again, and its pauses begin anew.

    Args:
        hold: its row is read again under a lock.
        actor: who asks; required.
        reason: why. Kept in the audit row.

    Raises:
        NothingToContinue: the hold is gone: the trigger fired, or the record moved on.
        InvalidInput: the reason does not fit.
    """
    who, why, using = as_actor(actor), preconditions.checked_reason(reason, force=False), _alias(hold)
    with transaction.atomic(using=using):
        locked = _locked(hold, using)
        now = timing.now(using)
        _audit(RELEASE, locked, who, why, now, using)
        holds.release(locked, now, using, afresh=True)


def fire_held(hold: TriggerHold, *, actor: Any, reason: str = "") -> None:
    """Tries a refused trigger once, now, as the tick would: as the system, and only if it is still due.

    Raises:
        NothingToContinue: the hold is gone, or the trigger is no longer due.
        UnknownLifecycle: this process does not know the trigger.
        GuardRefused: it is refused again; the try is counted and audited.
        Conflict: somebody holds the record at this moment.
    """
    who, why, using = as_actor(actor), preconditions.checked_reason(reason, force=False), _alias(hold)
    with transaction.atomic(using=using):
        locked = _locked(hold, using)
        definition, trigger = trigger_of(locked)
        now = timing.now(using)
        tries = locked.tries
        _audit(FIRE, locked, who, why, now, using)
        # The tick passes over what is held: lifted first, the hold is parked again if the answer is no.
        holds.release(locked, now, using, afresh=False)
        sweep = Pass(using=using)
        _fire(definition, trigger, locked, now, sweep)
        again = holds.lock(locked.pk, using)
    # After the commit: the try and its audit row stay, whatever the transition said.
    if sweep.done:
        return
    if again is not None and again.tries > tries:
        raise GuardRefused(reasons(again), lifecycle=again.lifecycle, record_id=again.record_id)
    raise Conflict(
        _("Somebody else is working on this record at this moment. The next tick tries again."),
        lifecycle=locked.lifecycle,
        record_id=locked.record_id,
    )


def trigger_of(hold: TriggerHold) -> tuple[Definition, CompiledTimeout | CompiledDeadline]:
    """What this process knows about a hold's trigger.

    Raises:
        UnknownLifecycle: it knows no such trigger.
    """
    definition = registry.find(hold.lifecycle)
    trigger: CompiledTimeout | CompiledDeadline | None = None
    if definition is not None:
        trigger = definition.timeouts.get(hold.trigger) or definition.deadlines.get(hold.trigger)
    if definition is None or trigger is None:
        said = _(
            "This process has no code for the timeout or deadline “%(trigger)s” of the lifecycle “%(lifecycle)s”. "
            "Deploy it, then try again."
        )
        raise UnknownLifecycle(
            said % {"trigger": hold.trigger, "lifecycle": hold.lifecycle},
            lifecycle=hold.lifecycle,
            record_id=hold.record_id,
        )
    return definition, trigger


def reasons(hold: TriggerHold) -> str:
    """The refusals of the last try, as sentences."""
    said = [str(refusal.get("message", "")) for refusal in hold.refusals if isinstance(refusal, dict)]
    return " ".join(sentence for sentence in said if sentence) or _("It was refused without a reason.")


def _fire(
    definition: Definition,
    trigger: CompiledTimeout | CompiledDeadline,
    hold: TriggerHold,
    now: dt.datetime,
    sweep: Pass,
) -> None:
    pk, using = records.parse_id(definition, hold.record_id), sweep.using
    for state in trigger.when:
        conditions: dict[str, Any]
        if isinstance(trigger, CompiledTimeout):
            before = now - trigger.after(parameters.read(definition, using))
            rows = due.timeouts(definition, trigger, state, changed_before=before, now=now, using=using)
            conditions = {"reason": f"timeout {trigger.name}, tried by an operator", "expect_changed_before": before}
        else:
            rows = due.deadlines(definition, trigger, state, now=now, using=using)
            conditions = {"reason": f"deadline {trigger.name}, tried by an operator"}
        found = [triggers.Due(pk=key, version=version, position=at) for key, version, at in rows.filter(pk=pk)]
        if not found:
            continue
        if isinstance(trigger, CompiledDeadline):
            conditions["request_ids"] = {pk: deadlines.request_id(trigger, found[0].position)}
        triggers.fire(definition, trigger, found, sweep, **conditions)
        return
    raise NothingToContinue(
        _("“%(trigger)s” is no longer due for this record: it moved on, or it now has more time.")
        % {"trigger": hold.trigger},
        lifecycle=hold.lifecycle,
        record_id=hold.record_id,
    )


def _locked(hold: TriggerHold, using: str) -> TriggerHold:
    locked = holds.lock(hold.pk, using)
    if locked is None:
        raise NothingToContinue(
            _("This hold is gone: the trigger has fired, or the record has moved on."),
            lifecycle=hold.lifecycle,
            record_id=hold.record_id,
        )
    return locked


def _audit(action: str, hold: TriggerHold, who: Any, why: str, now: dt.datetime, using: str) -> None:
    operator_actions.note(
        action,
        lifecycle=hold.lifecycle,
        record_id=hold.record_id,
        actor=who,
        reason=why,
        before={"trigger": hold.trigger, "version": hold.version, "tries": hold.tries, "refusals": hold.refusals},
        now=now,
        using=using,
    )


def _alias(hold: TriggerHold) -> str:
    return hold._state.db or router.db_for_write(TriggerHold, instance=hold)
