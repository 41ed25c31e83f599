"""Parameter value: what an audit row keeps as JSON, as people read it."""

from __future__ import annotations

from typing import Any

from lifecycle import registry
from lifecycle.admin.parts import times
from lifecycle.definition import parameters as declared
from lifecycle.exceptions import LifecycleError


def kept(lifecycle: str, name: str, value: Any) -> str:
    """``3 min`` for the ``P0DT00H03M00S`` of an audit row; as it stands where the parameter is no longer declared."""
    definition = registry.find(lifecycle)
    if definition is None or value is None:
        return times.shown(value)
    try:
        return times.shown(declared.validate(definition, name, value))
    except LifecycleError:
        return times.shown(value)
