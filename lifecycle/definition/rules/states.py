"""State rule: that every record can come, go and end."""

from __future__ import annotations

from collections.abc import Iterator

from lifecycle.definition.compiled import (
    Definition,
)
from lifecycle.definition.graph import reachable
from lifecycle.definition.problems import Problem
from lifecycle.definition.reading import Declaration


def states_are_reachable(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A state cannot be reached from any initial state."""
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


def deprecated_states_are_not_entered(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A deprecated state is entered by a transition or by a creation."""
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


RULES = (
    states_are_reachable,
    states_that_are_not_final_have_a_way_out,
    final_states_are_not_left,
    final_states_have_no_leave_hooks,
    deprecated_states_are_not_entered,
)
