"""Name rule: what a name that is stored must look like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lifecycle.definition.compiled import (
    Definition,
)
from lifecycle.definition.problems import Problem
from lifecycle.definition.reading import Declaration

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]*\Z")
NAME_LENGTH = 100  # the columns that store names of lifecycles, transitions, effects, triggers and parameters
STATE_LENGTH = 63  # the history's columns for states
CODE_LENGTH = 100


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


RULES = (names_can_be_stored, guard_codes_can_be_stored)
