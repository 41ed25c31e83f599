"""Transition rule: that every edge has two ends and changes only what it may."""

from __future__ import annotations

from collections.abc import Iterator

from lifecycle.definition.compiled import (
    Definition,
)
from lifecycle.definition.problems import Problem
from lifecycle.definition.reading import Declaration
from lifecycle.definition.states import flat, is_any
from lifecycle.definition.transitions import Transition


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


def inputs_are_no_files(declaration: Declaration, definition: Definition) -> Iterator[Problem]:
    """A form asks for a file."""
    for transition in definition.transitions.values():
        for name, field in getattr(transition.form, "base_fields", {}).items():
            if getattr(field.widget, "needs_multipart_form", False):
                yield Problem(
                    id="lifecycle.E028",
                    message=f"The form of '{transition.name}' asks for a file ({name}), which no input can hold.",
                    hint="Input is JSON and kept in the history. Save the upload to a model of its own first, in a "
                    "view or an endpoint of yours, and let the form ask for that row (a ModelChoiceField).",
                    where=declaration.where(transition.name),
                )


RULES = (
    transitions_have_both_ends,
    several_targets_have_a_route,
    accept_leaves_owned_columns_alone,
    on_same_needs_one_target,
    inputs_are_no_files,
)
