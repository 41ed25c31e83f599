"""Rule: one thing a definition must hold to; all of them are asked, and all that is wrong is told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lifecycle.definition.compiled import Definition
from lifecycle.definition.problems import Problem
from lifecycle.definition.reading import Declaration
from lifecycle.definition.rules import effects, names, parameters, states, transitions, triggers

Rule = Callable[[Declaration, Definition], Iterator[Problem]]

RULES: tuple[Rule, ...] = (
    *names.RULES,
    *states.RULES,
    *transitions.RULES,
    *effects.RULES,
    *triggers.RULES,
    *parameters.RULES,
)


def verify(declaration: Declaration, definition: Definition) -> list[Problem]:
    """Everything wrong with a declaration and what was compiled of it."""
    problems = list(declaration.problems)
    for rule in RULES:
        problems.extend(rule(declaration, definition))
    return list(dict.fromkeys(problems))
