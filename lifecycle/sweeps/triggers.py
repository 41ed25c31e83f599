"""Triggers: what timeouts and deadlines share — fire a batch of due records, park those that refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, connections

from lifecycle import conf
from lifecycle.definition.compiled import CompiledDeadline, CompiledTimeout, Definition
from lifecycle.exceptions import Conflict, RecordNotFound
from lifecycle.execution import isolation
from lifecycle.runtime.results import BatchRefusal, Fired
from lifecycle.runtime.verbs import batch
from lifecycle.store import holds, records, timing
from lifecycle.store.holds import Held
from lifecycle.sweeps.passes import Pass

ALREADY = {
    "source": "trigger",
    "kind": "precondition",
    "code": "already_done",
    "message": "The trigger has had its effect; it is due again only because the record is back.",
    "params": {},
}


# What one row can do to a statement about many: its driver cannot read it, its expression fails on it.
UNREADABLE = (DatabaseError, ValueError, TypeError, ArithmeticError)


@dataclass(frozen=True, kw_only=True)
class Due:
    """A record found due: its key, its stay's version, and its place in the order of the pass."""

    pk: Any
    version: int
    position: Any


def fire(
    definition: Definition,
    trigger: CompiledTimeout | CompiledDeadline,
    due: Sequence[Due],
    sweep: Pass,
    *,
    reason: str,
    **conditions: Any,
) -> None:
    """Fires the trigger's transition on these records; forgets the holds of those that moved, parks those that refused.

    Records that somebody else holds locked, or that moved on meanwhile, are neither: they are found again if still due.
    """
    with isolation.call():
        report = batch.fire_due(
            definition, [one.pk for one in due], trigger.transition, using=sweep.using, reason=reason, **conditions
        )
    moved = [fired for fired in report.fired if not fired.replayed]
    sweep.done += len(moved)
    if moved:
        holds.clear(definition.name, trigger.name, [records.text_id(fired.record) for fired in moved], sweep.using)
    versions = {records.text_id(one.pk): one.version for one in due}
    parked = [
        *_refused(report.refused, versions),
        *_already_done([fired for fired in report.fired if fired.replayed], versions),
    ]
    if parked:
        _park(definition, trigger, parked, sweep)


def refuse_unless_alive(error: BaseException, using: str) -> None:
    """Raises the error again when it is the connection's rather than a row's."""
    if not connections[using].is_usable():
        raise error


def hold(
    definition: Definition, trigger: CompiledTimeout | CompiledDeadline, one: Due, error: Exception, sweep: Pass
) -> None:
    """Parks a record that cannot even be looked at, with the reason."""
    refusal = BatchRefusal(record_id=records.text_id(one.pk), error=error)
    held = Held(record_id=refusal.record_id, version=one.version, refusals=_reasons(refusal))
    _park(definition, trigger, [held], sweep)


def _refused(refused: Sequence[BatchRefusal], versions: Mapping[str, int]) -> list[Held]:
    return [
        Held(record_id=one.record_id, version=versions[one.record_id], refusals=_reasons(one))
        for one in refused
        if not _moved_on(one)
    ]


def _moved_on(refusal: BatchRefusal) -> bool:
    """Whether the record itself was gone or changed under our hands: then nobody said no."""
    error = refusal.error
    if isinstance(error, RecordNotFound):
        return bool(error.record_id == refusal.record_id)
    return isinstance(error, Conflict)


def _already_done(replayed: Sequence[Fired], versions: Mapping[str, int]) -> list[Held]:
    """A firing that changed nothing leaves the record due; without a hold every pass would do it again."""
    ids = [records.text_id(fired.record) for fired in replayed]
    return [Held(record_id=one, version=versions[one], refusals=[ALREADY]) for one in ids]


def _reasons(refusal: BatchRefusal) -> Sequence[Mapping[str, Any]]:
    explained: Sequence[Mapping[str, Any]] = [reason.as_dict() for reason in refusal.refusals]
    return explained or [
        {
            "source": "error",
            "kind": "precondition",
            "code": getattr(refusal.error, "code", type(refusal.error).__name__),
            "message": _sentence(refusal.error),
            "params": {},
        }
    ]


def _sentence(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:500]
    except Exception:  # noqa: BLE001 an error that cannot be printed is still recorded
        return type(error).__name__


def _park(
    definition: Definition, trigger: CompiledTimeout | CompiledDeadline, parked: Sequence[Held], sweep: Pass
) -> None:
    options = conf.options()
    holds.park(
        definition.name,
        trigger.name,
        parked,
        now=timing.now(sweep.using),
        backoff=options.hold_backoff,
        maximum=options.hold_maximum,
        using=sweep.using,
    )
    sweep.facts["held"] = sweep.facts.get("held", 0) + len(parked)
