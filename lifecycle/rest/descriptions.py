"""Description: a definition as JSON, for clients that draw it or build forms from it."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any

from lifecycle import payloads
from lifecycle.definition.compiled import CompiledEffect, CompiledTransition, Definition
from lifecycle.drawing.mermaid import mermaid
from lifecycle.rest.schemas import input_schema


def describe(definition: Definition, parameters: Any) -> dict[str, Any]:
    """Everything a client may know of a lifecycle; labels in the active language.

    Args:
        parameters: the lifecycle's parameters as they are now (None when it has none).
    """
    return {
        "name": definition.name,
        "hash": definition.hash,
        "initial": list(definition.initial),
        "final": sorted(definition.final, key=list(definition.states).index),
        "states": [
            {
                "name": state.name,
                "label": str(state.label),
                "initial": state.initial,
                "final": state.final,
                "deprecated": state.deprecated,
                "meta": plain(state.meta),
            }
            for state in definition.states.values()
        ],
        "transitions": [_transition(definition, one) for one in definition.transitions.values()],
        "effects": [_effect(one) for one in definition.effects.values()],
        "timeouts": [
            {
                "name": timeout.name,
                "transition": timeout.transition,
                "when": list(timeout.when),
                "after": timeout.after(parameters).total_seconds(),
            }
            for timeout in definition.timeouts.values()
        ],
        "deadlines": [
            {
                "name": deadline.name,
                "transition": deadline.transition,
                "when": list(deadline.when),
                "at": deadline.at if isinstance(deadline.at, str) else None,
            }
            for deadline in definition.deadlines.values()
        ],
        "reminders": [
            {
                "name": reminder.name,
                "effect": reminder.effect,
                "when": list(reminder.when),
                "after": reminder.after(parameters).total_seconds(),
                "repeat": _seconds(reminder.repeat),
            }
            for reminder in definition.reminders.values()
        ],
        "parameters": _parameters(definition, parameters),
        "diagram": mermaid(definition),
    }


def plain(value: Any) -> Any:
    """Data for pages as JSON: lazy labels resolved, dates as text."""
    return payloads.jsonable(value, what="meta", limit=2**31)


def _transition(definition: Definition, transition: CompiledTransition) -> dict[str, Any]:
    return {
        "name": transition.name,
        "label": str(transition.label),
        "description": str(transition.description or ""),
        "source": sorted(transition.sources, key=list(definition.states).index),
        "target": list(transition.targets),
        "manual": transition.manual,
        "input": input_schema(definition, transition),
        "effects": list(transition.effects),
        "meta": plain(transition.meta),
    }


def _effect(effect: CompiledEffect) -> dict[str, Any]:
    return {
        "name": effect.name,
        "on": sorted(effect.on),
        "on_enter": sorted(effect.on_enter),
        "on_success": effect.on_success,
        "on_failure": effect.on_failure,
        "on_dead": effect.on_dead,
        "attempts": effect.retry.attempts,
        "timeout": _seconds(effect.timeout),
        "delay": effect.delay.total_seconds(),
        "atomic": effect.atomic,
    }


def _parameters(definition: Definition, parameters: Any) -> list[dict[str, Any]]:
    if definition.parameters is None or parameters is None:
        return []
    return [
        {"name": field.name, "value": _json(getattr(parameters, field.name))}
        for field in dataclasses.fields(definition.parameters)
    ]


def _json(value: Any) -> Any:
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(key): _json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json(inner) for inner in value]
    return plain(value)


def _seconds(value: dt.timedelta | None) -> float | None:
    return value.total_seconds() if value is not None else None
