"""REST: a lifecycle's doors for Django REST framework (extra ``rest``)."""

from lifecycle.rest.errors import exception_handler
from lifecycle.rest.viewsets import LifecycleViewSetMixin

__all__ = ["LifecycleViewSetMixin", "exception_handler"]
