"""Parameters as they are now: the declaration's defaults under the operators' overrides."""

from __future__ import annotations

from typing import Any

from lifecycle.definition import parameters
from lifecycle.definition.compiled import Definition
from lifecycle.models import ParameterOverride


def read(definition: Definition, using: str) -> Any:
    """The lifecycle's parameters; one query, and none for a lifecycle without parameters."""
    if definition.parameters is None:
        return None
    overrides = ParameterOverride.objects.using(using).filter(lifecycle=definition.name)
    return parameters.structure(definition, dict(overrides.values_list("name", "value")))
