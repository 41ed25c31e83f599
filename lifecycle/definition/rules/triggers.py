"""Trigger rule: that time fires where it can, after a time that is one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator

from lifecycle.definition import parameters
from lifecycle.definition.compiled import (
    CompiledDeadline,
    CompiledReminder,
    CompiledTimeout,
    Definition,
)
from lifecycle.definition.durations import LONGEST, After, InvalidDuration
from lifecycle.definition.problems import Problem
from lifecycle.definition.reading import Declaration


def _firing(definition: Definition) -> Iterator[CompiledTimeout | CompiledDeadline]:
    yield from definition.timeouts.values()
    yield from definition.deadlines.values()


def _waiting(definition: Definition) -> Iterator[CompiledTimeout | CompiledReminder]:
    yield from definition.timeouts.values()
    yield from definition.reminders.values()


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
                hint=f"Give a datetime.timedelta longer than zero and of at most {LONGEST.days} days, "
                "or a function of the parameters that answers one.",
                where=declaration.where(trigger.name),
            )


def _complaint(after: Callable[[object], object], defaults: object) -> str | None:
    try:
        answer = after.source if isinstance(after, After) and after.fixed is not None else after(defaults)
    except InvalidDuration as error:
        return str(error).partition(": after ")[2].partition(";")[0]
    except Exception as error:  # noqa: BLE001 whatever the user's function raises is the user's problem to read, with all others
        return f"raised {type(error).__name__}: {error}"
    return None if dt.timedelta(0) < answer <= LONGEST else f"is {answer}"  # type: ignore[operator]


RULES = (
    triggers_wait_where_they_can_fire,
    triggers_wait_somewhere,
    reminders_wait_in_states_that_end,
    waits_are_durations,
)
