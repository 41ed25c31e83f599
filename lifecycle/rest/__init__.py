"""REST: a lifecycle's endpoints for Django REST framework (extra ``rest``)."""

from typing import TYPE_CHECKING, Any

from lifecycle.rest.errors import exception_handler
from lifecycle.rest.fields import AvailableField
from lifecycle.rest.viewsets.mixin import LifecycleViewSetMixin

if TYPE_CHECKING:
    from lifecycle.rest.filters import LifecycleFilterSet

__all__ = ["AvailableField", "LifecycleFilterSet", "LifecycleViewSetMixin", "exception_handler"]


def __getattr__(name: str) -> Any:
    """`LifecycleFilterSet` only when asked for: who filters nothing needs no django-filter."""
    if name == "LifecycleFilterSet":
        from lifecycle.rest.filters import LifecycleFilterSet

        return LifecycleFilterSet
    raise AttributeError(f"module 'lifecycle.rest' has no attribute {name!r}")
