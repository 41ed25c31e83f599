"""Documented: the OpenAPI inspector of an endpoint: the project's own, extended by what the endpoint does.

drf-spectacular is optional. Nothing here imports it: a project that describes its API with it has named its inspector
in ``DEFAULT_SCHEMA_CLASS`` (or on its viewset), and only then ours is loaded and mixed in.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary


class Documented:
    """The class attribute ``schema`` of the lifecycle's views.

    Args:
        extension: the name of the class in `lifecycle.rest.openapi` that describes these endpoints.
    """

    def __init__(self, extension: str) -> None:
        self._extension = extension
        self._given: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._defined_on = owner

    def __get__(self, view: Any, owner: type[Any]) -> Any:
        """The inspector that stands behind ours in the class's order of bases, extended if it is drf-spectacular's."""
        if view is not None and view in self._given:
            return self._given[view]
        found = super(self._defined_on, owner).schema  # type: ignore[misc]
        if not _is_spectacular(found):
            return found
        kind: Any = type(found)
        inspector = _extended(kind, self._extension)()
        inspector.view = view
        return inspector

    def __set__(self, view: Any, inspector: Any) -> None:
        """What a decorator on one action, or drf-spectacular itself, puts in its place."""
        self._given[view] = inspector
        if inspector is not None:
            inspector.view = view


def _is_spectacular(inspector: Any) -> bool:
    # Who has one of its inspectors has loaded it.
    loaded = sys.modules.get("drf_spectacular.openapi")
    return loaded is not None and isinstance(inspector, loaded.AutoSchema)


@cache
def _extended(inspector: type[Any], extension: str) -> type[Any]:
    from lifecycle.rest import openapi

    return type(inspector.__name__, (getattr(openapi, extension), inspector), {})
