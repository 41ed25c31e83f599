"""Services: the outside world of a lifecycle, replaced for a test."""

from __future__ import annotations

from typing import Any, TypeVar

from lifecycle import registry
from lifecycle.definition import services
from lifecycle.testing.arrangements import Arrangement

Services = TypeVar("Services")


def use_services(lifecycle: Any, replacement: Services) -> Arrangement[Services]:
    """``self.services`` of a lifecycle is this object.

    Args:
        lifecycle: the class, or the lifecycle's name.
        replacement: anything with the methods that guards and effects call.
    """
    definition = registry.of(lifecycle)
    return Arrangement(services.replaced(definition.name, replacement))
