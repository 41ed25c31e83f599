"""Rule: one thing a definition must hold to; all of them are asked, and all that is wrong is told at once."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator

from lifecycle.definition import parameters
from lifecycle.definition.compiled import (
    CompiledDeadline,
    CompiledEffect,
    CompiledReminder,
    CompiledTimeout,
    Definition,
)
from lifecycle.definition.durations import After, InvalidDuration
from lifecycle.definition.graph import reachable
from lifecycle.definition.problems import Problem
from lifecycle.definition.reading import Declaration
from lifecycle.definition.states import flat, is_any
from lifecycle.definition.transitions import Transition

Rule = Callable[[Declaration, Definition], Iterator[Problem]]

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]*\Z")
NAME_LENGTH = 100  # the columns that store names of lifecycles, transitions, effects, triggers and parameters
STATE_LENGTH = 63  # the history's columns for states
CODE_LENGTH = 100

_rules: list[Rule] = []


def rule(function: Rule) -> Rule:
    """Adds a rule to those that `verify` asks, in the order of this file."""
    _rules.append(function)
    return function


def verify(declaration: Declaration, definition: Definition) -> list[Problem]:
    """Everything wrong with a declaration and what was compiled of it."""
    problems = list(declaration.problems)
    for one in _rules:
        problems.extend(one(declaration, definition))
    return list(dict.fromkeys(problems))


# Names ------------------------------------------------------------------------------------------------


@rule
def names_can_be_stored(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A name cannot be stored: no identifier, or longer than its column."""
    groups = [
        ("lifecycle", [definition.name], NAME_LENGTH),
        ("state", definition.states, STATE_LENGTH),
        ("transition", definition.transitions, NAME_LENGTH),
        ("effect", definition.effects, NAME_LENGTH),
        ("timeout", definition.timeouts, NAME_LENGTH),
        ("deadline", definition.deadlines, NAME_LENGTH),
        ("reminder", definition.reminders, NAME_LENGTH),
        ("queue", {definition.queue, *(e.queue for e in definition.effects.values() if e.queue)}, NAME_LENGTH),
    ]
    for word, names, length in groups:
        for name in sorted(names):
            where = declaration.where() if word == "lifecycle" else declaration.where(name)
            if not NAME.match(name):
                yield Problem(
                    id="lifecycle.E003",
                    message=f"The {word} name '{name}' cannot be stored.",
                    hint="Begin with a letter, go on with letters, digits and _ . : - (no spaces, no $).",
                    where=where,
                )
            elif len(name) > length:
                yield Problem(
                    id="lifecycle.E003",
                    message=f"The {word} name '{name}' has {len(name)} characters; {length} fit.",
                    hint="Choose a shorter name before the first row is stored.",
                    where=where,
                )


# States -----------------------------------------------------------------------------------------------


@rule
def states_are_reachable(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A state cannot be come to from any initial state."""
    if not definition.initial:
        return
    seen = reachable(definition, definition.initial)
    for name, state in definition.states.items():
        if name not in seen and not state.deprecated:
            yield Problem(
                id="lifecycle.E015",
                message=f"No path leads from an initial state to '{name}'.",
                hint="Add a transition into it, or mark it State(deprecated=True) if only old records are in it.",
                where=declaration.where("Meta.states"),
            )


@rule
def states_that_are_not_final_have_a_way_out(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A state is not final, but nothing leaves it."""
    for name, state in definition.states.items():
        if not state.final and not definition.leaving(name):
            yield Problem(
                id="lifecycle.E016",
                message=f"'{name}' is not final, but no transition leaves it.",
                hint=f"Add a transition from '{name}', or name it in Meta.final.",
                where=declaration.where("Meta.final"),
            )


@rule
def final_states_are_not_left(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A transition leaves a final state."""
    for transition in definition.transitions.values():
        for state in sorted(transition.sources & definition.final):
            yield Problem(
                id="lifecycle.E017",
                message=f"Transition '{transition.name}' leaves the final state '{state}'.",
                hint=f"Take '{state}' out of its sources or out of Meta.final.",
                where=declaration.where(transition.name),
            )


@rule
def final_states_have_no_leave_hooks(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A hook waits for a final state to be left."""
    for state in definition.leave_hooks:
        if state in definition.final:
            for hook in definition.leave_hooks[state]:
                yield Problem(
                    id="lifecycle.E018",
                    message=f"'{hook.name}' waits for '{state}' to be left, and it is final.",
                    hint="Remove the hook, or use on_enter.",
                    where=declaration.where(hook.name),
                )


@rule
def deprecated_states_are_not_entered(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A deprecated state is entered by a transition or by birth."""
    deprecated = {name for name, state in definition.states.items() if state.deprecated}
    for name in definition.initial:
        if name in deprecated:
            yield Problem(
                id="lifecycle.E019",
                message=f"The initial state '{name}' is deprecated.",
                hint="Let records begin in another state, or do not deprecate it.",
                where=declaration.where("Meta.initial"),
            )
    for transition in definition.transitions.values():
        for state in transition.targets:
            if state in deprecated:
                yield Problem(
                    id="lifecycle.E019",
                    message=f"Transition '{transition.name}' leads into the deprecated state '{state}'.",
                    hint="Lead it elsewhere, or do not deprecate the state.",
                    where=declaration.where(transition.name),
                )


# Transitions ------------------------------------------------------------------------------------------


@rule
def transitions_have_both_ends(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A transition has no source or no target."""
    for name, declared in declaration.of(Transition).items():
        for word, value in (("source", declared.source), ("target", declared.target)):
            if not flat(value):
                yield Problem(
                    id="lifecycle.E020",
                    message=f"Transition '{name}' has no {word}.",
                    hint=f"Name at least one {word} state{' or ANY' if word == 'source' else ''}.",
                    where=declaration.where(name),
                )
        if _only_any(declared.source) and definition.states and not definition.transitions[name].sources:
            yield Problem(
                id="lifecycle.E020",
                message=f"Transition '{name}' starts in no state: {declared.source!r} leaves none.",
                hint="ANY means every state that is not final; name the states it may start in.",
                where=declaration.where(name),
            )
        if any(is_any(item) for item in flat(declared.target)):
            yield Problem(
                id="lifecycle.E021",
                message=f"Transition '{name}' has the target {declared.target!r}.",
                hint="List the states its route may choose.",
                where=declaration.where(name),
            )


def _only_any(source: object) -> bool:
    return bool(flat(source)) and all(is_any(item) for item in flat(source))


@rule
def several_targets_have_a_route(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """Several targets have no route, or a single one has a route."""
    for transition in definition.transitions.values():
        if len(transition.targets) > 1 and transition.route is None:
            yield Problem(
                id="lifecycle.E022",
                message=f"Transition '{transition.name}' has {len(transition.targets)} targets and no route.",
                hint=f"Add a function with @{transition.name}.route that answers with one of them.",
                where=declaration.where(transition.name),
            )
        if len(transition.targets) == 1 and transition.route is not None:
            yield Problem(
                id="lifecycle.E023",
                message=f"Transition '{transition.name}' has a route and a single target.",
                hint="Remove the route, or list all targets it may choose.",
                where=declaration.where(transition.name),
            )


@rule
def accept_leaves_owned_columns_alone(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """``accept`` names the record's key or a column that only the runtime writes."""
    options = getattr(definition.model, "_meta", None)
    key = getattr(getattr(options, "pk", None), "name", "id")
    for transition in definition.transitions.values():
        for name in transition.accept:
            if name in ("pk", "id", key):
                what = "the record's key"
            elif name in definition.owned_fields:
                what = "a column only the runtime writes"
            else:
                continue
            yield Problem(
                id="lifecycle.E024",
                message=f"Transition '{transition.name}' accepts '{name}', {what}.",
                hint="Take it out of accept; the state is changed by the transition itself.",
                where=declaration.where(transition.name),
            )


@rule
def on_same_needs_one_target(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """``on_same="ok"`` stands on a transition with several targets."""
    for transition in definition.transitions.values():
        if transition.on_same == "ok" and len(transition.targets) > 1:
            yield Problem(
                id="lifecycle.E025",
                message=f"Transition '{transition.name}' has on_same='ok' and several targets.",
                hint="Only with one target is it clear when the record is already there.",
                where=declaration.where(transition.name),
            )


@rule
def guard_codes_can_be_stored(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A guard's code is no identifier."""
    groups = [definition.create_guards, *(transition.guards for transition in definition.transitions.values())]
    for guard in dict.fromkeys(guard for guards in groups for guard in guards):
        if not NAME.match(guard.code) or len(guard.code) > CODE_LENGTH:
            yield Problem(
                id="lifecycle.E003",
                message=f"The code '{guard.code}' of guard '{guard.name}' is no code.",
                hint="Codes are for machines: a letter, then letters, digits and _ . : -, at most 100 characters.",
                where=declaration.where(guard.name),
            )


# Effects ----------------------------------------------------------------------------------------------


@rule
def effects_outlive_their_attempts(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """An effect's lease is not longer than its timeout."""
    for effect in definition.effects.values():
        if effect.lease is not None and effect.lease <= effect.timeout:
            yield Problem(
                id="lifecycle.E034",
                message=f"Effect '{effect.name}' may take {effect.timeout}, but its lease ends after {effect.lease}.",
                hint="Make the lease longer than the timeout, or leave it out: it then follows the timeout.",
                where=declaration.where(effect.name),
            )


@rule
def effects_are_owed_by_something(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """No transition, state or reminder owes an effect."""
    reminded = {reminder.effect for reminder in definition.reminders.values()}
    broken = bool(declaration.problems)  # what owes it may be the very thing that could not be read
    for effect in definition.effects.values():
        if not effect.on and not effect.on_enter and effect.name not in reminded and not broken:
            yield Problem(
                id="lifecycle.E037",
                message=f"Effect '{effect.name}' is owed by nothing.",
                hint="Name what owes it: on=…, on_enter=…, effects=[…] of a transition, or a Reminder.",
                where=declaration.where(effect.name),
            )


@rule
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
    """The states a record can be in when a run of this effect ends: one answer per way it is owed."""
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


# Triggers ---------------------------------------------------------------------------------------------


def _firing(definition: Definition) -> Iterator[CompiledTimeout | CompiledDeadline]:
    yield from definition.timeouts.values()
    yield from definition.deadlines.values()


def _waiting(definition: Definition) -> Iterator[CompiledTimeout | CompiledReminder]:
    yield from definition.timeouts.values()
    yield from definition.reminders.values()


@rule
def triggers_wait_where_they_can_fire(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A timeout or deadline waits in a state its transition cannot start from."""
    for trigger in _firing(definition):
        sources = definition.transitions[trigger.transition].sources
        for state in trigger.when:
            if state not in sources:
                yield Problem(
                    id="lifecycle.E042",
                    message=f"'{trigger.name}' waits in '{state}', where '{trigger.transition}' cannot start.",
                    hint=f"Take '{state}' out of when, or add it to the sources of '{trigger.transition}'.",
                    where=declaration.where(trigger.name),
                )


@rule
def triggers_wait_somewhere(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A trigger waits in no state."""
    for trigger in [*_firing(definition), *definition.reminders.values()]:
        if not trigger.when and not declaration.problems:
            yield Problem(
                id="lifecycle.E041",
                message=f"'{trigger.name}' waits in no state.",
                hint="Name the state or states in when.",
                where=declaration.where(trigger.name),
            )


@rule
def reminders_wait_in_states_that_end(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A reminder reminds in a final state."""
    for reminder in definition.reminders.values():
        for state in reminder.when:
            if state in definition.final:
                yield Problem(
                    id="lifecycle.E045",
                    message=f"'{reminder.name}' reminds in '{state}', which is final.",
                    hint="Nobody can act in a final state: name the states that wait for something.",
                    where=declaration.where(reminder.name),
                )


@rule
def waits_are_durations(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """``after`` raises, or answers something else than a duration longer than zero."""
    try:
        defaults = parameters.defaults(definition)
    except Exception:  # noqa: BLE001 Parameters that cannot be made are told by the rule about them
        return
    for trigger in _waiting(definition):
        said = _complaint(trigger.after, defaults)
        if said:
            yield Problem(
                id="lifecycle.E043",
                message=f"after of '{trigger.name}' {said}.",
                hint="Give a datetime.timedelta longer than zero, or a function of the parameters that answers one.",
                where=declaration.where(trigger.name),
            )


def _complaint(after: Callable[[object], object], defaults: object) -> str | None:
    try:
        answer = after.source if isinstance(after, After) and after.fixed is not None else after(defaults)
    except InvalidDuration as error:
        return str(error).partition(": after ")[2].partition(";")[0]
    except Exception as error:  # noqa: BLE001 whatever the user's function raises is the user's problem to read, with all others
        return f"raised {type(error).__name__}: {error}"
    return None if answer.total_seconds() > 0 else f"is {answer}"  # type: ignore[attr-defined]


# Parameters -------------------------------------------------------------------------------------------


@rule
def parameters_can_be_edited(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """Parameters is no frozen dataclass with defaults of storable types."""
    declared = definition.parameters
    if declared is None:
        return
    where = declaration.where("Parameters")
    if not (dataclasses.is_dataclass(declared) and declared.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        yield Problem(
            id="lifecycle.E009",
            message="Parameters is not a frozen dataclass.",
            hint="Write @dataclass(frozen=True) above it.",
            where=where,
        )
        return
    for name, said, hint in parameters.complaints(definition):
        yield Problem(id="lifecycle.E009", message=said, hint=hint, where=declaration.where("Parameters", name))
