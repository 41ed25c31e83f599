"""Parameter rule: that an operator can edit what the class declares."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from lifecycle.definition import parameters
from lifecycle.definition.compiled import (
    Definition,
)
from lifecycle.definition.problems import Problem
from lifecycle.definition.reading import Declaration


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


RULES = (parameters_can_be_edited,)
