"""Known: the flows of this process, by name."""

from __future__ import annotations

from typing import Any

from django.utils.module_loading import autodiscover_modules

from lifecycle.definition.flows import flow as declarations
from lifecycle.definition.flows.flow import Flow, FlowDefinition
from lifecycle.exceptions import InvalidDefinition, UnknownFlow
from lifecycle.suggest import did_you_mean

_definitions: dict[str, FlowDefinition] = {}


def register(flow: type[Flow[Any, Any]]) -> type[Flow[Any, Any]]:
    """Makes a flow known by its name; also usable as a class decorator.

    Raises:
        InvalidDefinition: another class is registered under this name.
    """
    definition = flow.definition
    before = _definitions.get(definition.name)
    if before is not None and before is not definition:
        raise InvalidDefinition(
            f"Two flows are named '{definition.name}': {_path(before.flow)} and {_path(flow)}. "
            "The name is stored in rows: give the newer one another."
        )
    _definitions[definition.name] = definition
    return flow


def unregister(name: str) -> None:
    """Forgets a flow (tests)."""
    _definitions.pop(name, None)


def autodiscover() -> None:
    """Imports ``flows.py`` of every installed app and registers what is declared there."""
    autodiscover_modules("flows")
    for flow in declarations.declared:
        module = flow.__module__
        if (module.endswith(".flows") or ".flows." in module) and not module.startswith("lifecycle."):
            register(flow)


def find(name: str) -> FlowDefinition | None:
    """The flow of this name, or None."""
    return _definitions.get(name)


def of(flow: Any) -> FlowDefinition:
    """The flow meant by its class or its name.

    Raises:
        UnknownFlow: with the nearest right name and the list.
    """
    definition = getattr(flow, "definition", None)
    if isinstance(definition, FlowDefinition):
        return definition
    found = find(str(flow))
    if found is None:
        raise UnknownFlow(f"No flow is named '{flow}'. {did_you_mean(str(flow), _definitions)}")
    return found


def all() -> list[FlowDefinition]:  # noqa: A001 read as known.all()
    """Every flow, in the order of registration."""
    return list(_definitions.values())


def _path(flow: type[Any]) -> str:
    return f"{flow.__module__}.{flow.__qualname__}"
