"""OpenAPI: the doors described for drf-spectacular; imported only when a project's inspector is one of its."""

from lifecycle.rest.openapi.desk import OperatorSchema
from lifecycle.rest.openapi.doors import DoorSchema

__all__ = ["DoorSchema", "OperatorSchema"]
