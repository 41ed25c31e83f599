"""Effect rule: that an effect is enqueued by something, ends in time, and can be followed up."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

from lifecycle.definition.compiled import (
    CompiledEffect,
    Definition,
)
from lifecycle.definition.graph import reachable
from lifecycle.definition.problems import Problem
from lifecycle.definition.reading import Declaration

# Rows hold whole seconds, and four renewals have to fit into one.
SHORTEST_LEASE = dt.timedelta(seconds=1)


def effects_have_limits_that_can_be_kept(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """An effect's lease cannot be kept, or its heartbeat_timeout limits nothing."""
    for effect in definition.effects.values():
        if effect.lease is not None and effect.lease < SHORTEST_LEASE:
            yield Problem(
                id="lifecycle.E034",
                message=f"The lease of effect '{effect.name}' is {effect.lease}: too short to be renewed in time.",
                hint="Give it a second or more, or leave it out: it is then the setting LEASE. How long the effect may "
                "take is its timeout.",
                where=declaration.where(effect.name),
            )
        if effect.heartbeat_timeout and effect.timeout and effect.heartbeat_timeout >= effect.timeout:
            yield Problem(
                id="lifecycle.E034",
                message=f"Effect '{effect.name}' may be silent for {effect.heartbeat_timeout}, but its attempt ends "
                f"after {effect.timeout} anyway.",
                hint="Make heartbeat_timeout shorter than timeout, or timeout longer (None: no limit).",
                where=declaration.where(effect.name),
            )


def effects_are_enqueued_by_something(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """No transition, state or reminder enqueues an effect."""
    reminded = {reminder.effect for reminder in definition.reminders.values()}
    broken = bool(declaration.problems)  # what enqueues it may be the very thing that could not be read
    for effect in definition.effects.values():
        if not effect.on and not effect.on_enter and effect.name not in reminded and not broken:
            yield Problem(
                id="lifecycle.E037",
                message=f"Effect '{effect.name}' is enqueued by nothing.",
                hint="Name what enqueues it: on=…, on_enter=…, effects=[…] of a transition, or a Reminder.",
                where=declaration.where(effect.name),
            )


def effects_of_a_stay_are_bound_to_it(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """An effect is to be called during its stay only, but is bound to none."""
    for effect in definition.effects.values():
        if effect.only_during_stay and effect.stay_bound is False:
            yield Problem(
                id="lifecycle.E038",
                message=f"Effect '{effect.name}' has only_during_stay=True and stay_bound=False: it has no stay.",
                hint="Leave stay_bound out, or only_during_stay.",
                where=declaration.where(effect.name),
            )


def follow_ups_can_start(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """An effect's follow-up cannot start where the record will be."""
    for effect in definition.effects.values():
        for option in ("on_success", "on_failure", "on_dead"):
            name = getattr(effect, option)
            if option == "on_dead" and name == effect.on_failure:
                continue  # told once, about on_failure
            if name is None or name not in definition.transitions:
                continue
            for where, states in _where_it_will_be(definition, effect):
                if not _can_start(definition, name, states):
                    yield Problem(
                        id="lifecycle.E036",
                        message=f"{option} of effect '{effect.name}' is '{name}', which cannot start {where}.",
                        hint=f"'{name}' starts in {_list(definition.transitions[name].sources)}: add a state to its "
                        "sources, or name another transition.",
                        where=declaration.where(effect.name),
                    )


def _where_it_will_be(definition: Definition, effect: CompiledEffect) -> Iterator[tuple[str, frozenset[str]]]:
    """The states a record can be in when a run of this effect ends: one answer per way it is enqueued."""
    reminders = [r for r in definition.reminders.values() if r.effect == effect.name]
    waits = [*sorted(effect.on_enter), *(state for reminder in reminders for state in reminder.when)]
    for state in dict.fromkeys(waits):
        stays = state in effect.on_enter and effect.stay_bound is False
        yield f"in '{state}'", reachable(definition, [state]) if stays else frozenset([state])
    for name in sorted(effect.on):
        transition = definition.transitions.get(name)
        if transition is None or not transition.targets:
            continue
        if effect.stay_bound:
            yield f"in {_list(transition.targets)}", frozenset(transition.targets)
        else:
            yield f"in {_list(transition.targets)} or after", reachable(definition, transition.targets)


def _can_start(definition: Definition, name: str, states: frozenset[str]) -> bool:
    transition = definition.transitions[name]
    if transition.sources & states or not transition.sources:  # no sources: told by another rule
        return True
    return transition.on_same == "ok" and bool(set(transition.targets) & states)


def _list(names: Iterable[str]) -> str:
    return " or ".join(f"'{name}'" for name in sorted(names)) or "no state"


RULES = (
    effects_of_a_stay_are_bound_to_it,
    effects_have_limits_that_can_be_kept,
    effects_are_enqueued_by_something,
    follow_ups_can_start,
)
