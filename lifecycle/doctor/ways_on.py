"""Ways on: records in states that only an effect leads out of, and that effect was cancelled or failed for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lifecycle.definition.compiled import CompiledEffect, Definition
from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import ERROR, WARNING, Finding, several
from lifecycle.models import stuck
from lifecycle.store import records


def stranded(examined: Examined) -> Iterator[Finding]:
    """Records that wait for an effect that was cancelled, or that failed without a follow-up."""
    for definition in examined.definitions:
        for state in definition.states:
            effects = awaited(definition, state)
            if not effects:
                continue
            rows = stuck.left_alone(definition, state, effects, examined.using)
            count = rows.count()
            if count:
                yield _finding(examined, definition, state, effects, count, rows)


def awaited(definition: Definition, state: str) -> list[str]:
    """The effects a state waits for; none where something else also leads on by itself.

    That is a timeout, a deadline, a reminder that has such an effect run again, or a transition that code of the
    project fires: neither for people nor what follows an effect.
    """
    follow_ups = {name for effect in definition.effects.values() for name in _follow_ups(effect)}
    triggers: list[Any] = [*definition.timeouts.values(), *definition.deadlines.values()]
    if any(state in trigger.when for trigger in triggers):
        return []
    ways = {way.name: way for way in definition.leaving(state) if set(way.targets) != {state}}
    if any(not way.manual and way.name not in follow_ups for way in ways.values()):
        return []
    effects = [effect.name for effect in definition.effects.values() if ways.keys() & _follow_ups(effect)]
    reminded = {one.effect for one in definition.reminders.values() if state in one.when}
    return [] if reminded.intersection(effects) else effects


def _follow_ups(effect: CompiledEffect) -> set[str]:
    return {name for name in (effect.on_success, effect.on_failure, effect.on_dead) if name is not None}


def _finding(
    examined: Examined, definition: Definition, state: str, effects: list[str], count: int, rows: Any
) -> Finding:
    meta = definition.model._meta
    waiting = several(count, f"{meta.verbose_name} waits", f"{meta.verbose_name_plural} wait")
    by_hand = [way.name for way in definition.leaving(state) if way.manual and set(way.targets) != {state}]
    awaited_one = " or ".join(f"'{name}'" for name in effects)
    otherwise = f"; only people can move them on ({', '.join(by_hand)})" if by_hand else ""
    keys = rows.values_list("pk", flat=True)[: examined.limits.examples]
    return examined.found(
        "stranded",
        WARNING if by_hand else ERROR,
        f"{waiting} in '{state}' for the effect {awaited_one}, which was cancelled or failed with no transition to "
        f"follow{otherwise}.",
        f"manage.py lifecycle_retry --lifecycle {definition.name} --effect {effects[0]} --status cancelled "
        "--status failed --reason … has it run again; or give the state another way on (a transition for people, a "
        "timeout, on_failure) and take that.",
        lifecycle=definition.name,
        count=count,
        examples=tuple(records.text_id(pk) for pk in keys),
    )
