"""Annotation check: whether the names that a model tells type checkers are those of its transitions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin

from django.core.checks import CheckMessage, register
from django.core.checks import Warning as Caution

from lifecycle import registry
from lifecycle.checks.ids import TAG
from lifecycle.models import LifecycleAccessor


@register(TAG)
def annotated_names_are_transitions(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports ``lifecycle: LifecycleAccessor[Literal[…]]`` that names something else than the transitions."""
    found: list[CheckMessage] = []
    for definition in registry.all():
        said = None if definition.model is None else _names(definition.model, definition.accessor)
        if said is None or said == set(definition.transitions):
            continue
        unknown, unsaid = sorted(said - set(definition.transitions)), sorted(set(definition.transitions) - said)
        wrong = [f"names {', '.join(unknown)}, which are no transitions"] if unknown else []
        wrong += [f"leaves out {', '.join(unsaid)}"] if unsaid else []
        right = ", ".join(f'"{name}"' for name in definition.transitions)
        found.append(
            Caution(
                f"The annotation of {definition.model._meta.label}.{definition.accessor} {' and '.join(wrong)}.",
                hint=f"{definition.accessor}: LifecycleAccessor[Literal[{right}]]",
                obj=f"{definition.lifecycle.__name__}",
                id="lifecycle.W104",
            )
        )
    return found


def _names(model: type[Any], accessor: str) -> set[str] | None:
    """The names in a model's own annotation; None where there are none, or where they cannot be read."""
    for owner in model.__mro__:
        annotation = inspect.get_annotations(owner).get(accessor)
        if annotation is not None:
            break
    else:
        return None
    if isinstance(annotation, str):
        try:
            # What the module itself would have evaluated; it may name what is imported for type checkers only.
            annotation = eval(annotation, dict(vars(sys.modules[owner.__module__])), dict(vars(owner)))  # noqa: S307
        except Exception:  # noqa: BLE001 then the type checker alone can judge it
            return None
    origin: Any = get_origin(annotation)
    if origin is not LifecycleAccessor:
        return None
    (names,) = get_args(annotation)
    return {str(name) for name in get_args(names)} if get_origin(names) is Literal else None
