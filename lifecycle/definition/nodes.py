"""Node: the states of a lifecycle, gathered from ``Meta.states`` and the model's state field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.exceptions import FieldDoesNotExist

from lifecycle.definition.compiled import State as Compiled
from lifecycle.definition.frozen import deep
from lifecycle.definition.options import CHECKS, judged
from lifecycle.definition.reading import Declaration
from lifecycle.definition.states import State, flat, plain, words
from lifecycle.suggest import did_you_mean


def states_of(declaration: Declaration) -> tuple[dict[str, Compiled], list[str]]:
    """The states in order, and the initial ones as named."""
    found = _labels(declaration)
    details = _details(declaration)
    known = {name for name, _ in found}
    for name in [name for name in details if name not in known]:
        declaration.report(
            "lifecycle.E014",
            f"Meta.states describes '{name}', which is no state.",
            did_you_mean(name, known),
            "Meta.states",
        )
    initial = _named(declaration, "initial", known, "lifecycle.E012")
    final = _named(declaration, "final", known, "lifecycle.E013")
    states: dict[str, Compiled] = {}
    for name, label in found:
        if name in states:
            declaration.report("lifecycle.E011", f"The state '{name}' is listed twice.", "List it once.", "Meta.states")
            continue
        detail = details.get(name, State())
        states[name] = Compiled(
            name=name,
            label=label if detail.label is None else detail.label,
            initial=name in initial,
            final=name in final or bool(detail.final),
            deprecated=bool(detail.deprecated),
            meta=deep(detail.meta),
        )
    return states, initial


def _labels(declaration: Declaration) -> list[tuple[str, Any]]:
    """Every state with its label, from where the declaration says."""
    given, field = declaration.meta.states, _field_choices(declaration)
    if isinstance(given, Mapping) and field:
        pairs = field  # the mapping then adds labels and meta to the field's choices
    elif given is None:
        pairs = field or []
    elif isinstance(given, Mapping):
        pairs = [(name, words(str(plain(name)))) for name in given]
    elif isinstance(given, type) and hasattr(given, "choices"):
        pairs = list(given.choices)
    elif isinstance(given, Iterable) and not isinstance(given, (str, type)):
        pairs = [item if isinstance(item, tuple) else (item, words(str(plain(item)))) for item in given]
    else:
        declaration.report(
            "lifecycle.E010",
            f"Meta.states cannot be read: {given!r}.",
            "Give a choices class, a list of names, or a mapping from name to State(…).",
            "Meta.states",
        )
        return []
    if not pairs and (given is not None or field is not None):
        declaration.report(
            "lifecycle.E010",
            "There are no states.",
            "Give the state field choices (StateField(Status)) or list the states in Meta.states.",
            "Meta.states" if given is not None else "Meta.state_field",
        )
    return list(_names(declaration, pairs))


def _names(declaration: Declaration, pairs: Iterable[tuple[Any, Any]]) -> Iterable[tuple[str, Any]]:
    for value, label in pairs:
        name = plain(value)
        if name is None or name == "":
            continue  # the empty choice of a form is no state
        if isinstance(name, str):
            yield name, label
        else:
            declaration.report(
                "lifecycle.E003",
                f"The state {name!r} is not a string.",
                "Use TextChoices: the state's name is stored in the record and in its history.",
                "Meta.states",
            )


def _field_choices(declaration: Declaration) -> list[tuple[Any, Any]] | None:
    """The choices of the model's state field; None, and reported, when there is no such field.

    The model is asked by its shape alone: this floor does not know the ORM.
    """
    meta = declaration.meta
    if meta.model is None:
        if meta.states is None:
            declaration.report(
                "lifecycle.E004",
                "Meta has no model.",
                "Set Meta.model to the model whose rows move through these states (or Meta.abstract = True).",
                "Meta.model",
            )
        return None
    options = getattr(meta.model, "_meta", None)
    if options is None:
        declaration.report(
            "lifecycle.E004",
            f"Meta.model is {meta.model!r}, which is no model class.",
            "Set Meta.model to the model class itself.",
            "Meta.model",
        )
        return None
    try:
        field = options.get_field(meta.state_field)
    except FieldDoesNotExist:
        names = [field.name for field in options.local_fields] or [field.name for field in options.fields]
        declaration.report(
            "lifecycle.E010",
            f"{meta.model.__name__} has no field '{meta.state_field}' to keep the state in.",
            did_you_mean(meta.state_field, names),
            "Meta.state_field",
        )
        return None
    return list(getattr(field, "flatchoices", None) or field.choices or [])


def _details(declaration: Declaration) -> dict[str, State]:
    given = declaration.meta.states
    if not isinstance(given, Mapping):
        return {}
    details: dict[str, State] = {}
    for key, value in given.items():
        name = plain(key)
        if not isinstance(name, str):
            continue
        details[name] = _judged(declaration, name, _state(value))
        for option in details[name].unknown:
            declaration.report(
                "lifecycle.E001",
                f"State has no option '{option}'.",
                did_you_mean(option, ("label", "meta", "final", "deprecated")),
                "Meta.states",
                name,
            )
    return details


def _state(value: Any) -> State:
    """What a value of the mapping says: a `State`, its options as a dict, or a label alone."""
    if isinstance(value, State):
        return value
    if isinstance(value, Mapping):
        return State(**{str(option): given for option, given in value.items()})
    return State(value)


def _judged(declaration: Declaration, name: str, state: State) -> State:
    """The state with its wrong options reported and left at their defaults."""
    good = judged(declaration, CHECKS["state"], state.options, "Meta.states", name)
    return State(**good, **state.unknown)


def _named(declaration: Declaration, option: str, known: Iterable[str], code: str) -> list[str]:
    """The states an option of Meta names."""
    known = list(known)
    names: list[str] = []
    for value in flat(getattr(declaration.meta, option)):
        name = plain(value)
        if isinstance(name, str) and name in known:
            names.append(name)
        elif known:
            declaration.report(
                code, f"Meta.{option} names '{name}', which is no state.", did_you_mean(name, known), f"Meta.{option}"
            )
    return list(dict.fromkeys(names))
