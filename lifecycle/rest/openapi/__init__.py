"""OpenAPI: the endpoints described for drf-spectacular; imported only when a project's inspector is one of its."""

from lifecycle.rest.openapi.endpoints import EndpointSchema
from lifecycle.rest.openapi.operators import OperatorSchema

__all__ = ["EndpointSchema", "OperatorSchema"]
