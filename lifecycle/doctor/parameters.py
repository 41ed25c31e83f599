"""Parameters: values that were stored and that this code cannot use."""

from __future__ import annotations

from collections.abc import Iterator

from lifecycle.definition.parameters import defaults
from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import WARNING, Finding
from lifecycle.store import parameters


def unfit(examined: Examined) -> Iterator[Finding]:
    """Stored values of parameters that do not fit the declaration. The declared values are used instead."""
    for definition in examined.definitions:
        _current, complaints = parameters.read_with_complaints(definition, examined.using)
        for name, complaint in complaints.items():
            remedy = f"Set it anew or reset it on the Lifecycles page, or with reset_parameter('{definition.name}', …)."
            if not hasattr(defaults(definition), name):
                remedy = f"Nothing reads it any more: delete the ParameterOverride of '{name}'."
            yield examined.found(
                "unfit_parameters",
                WARNING,
                f"A stored value does not count, the declared one does. {complaint}",
                remedy,
                lifecycle=definition.name,
            )
