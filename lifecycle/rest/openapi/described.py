"""Described: the base of all our OpenAPI descriptions: components, throttling, pagination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter

from lifecycle.rest.openapi.components import Components

if TYPE_CHECKING:
    from drf_spectacular.openapi import AutoSchema as _Base
else:
    _Base = object


class Described(_Base):
    """The components, throttles and pages of an endpoint."""

    view: Any  # DRF types it as a bare APIView

    @property
    def components(self) -> Components:
        """The named schemas of this description."""
        return Components(self.registry)

    def throttled(self) -> bool:
        """Whether an endpoint may answer 429."""
        return bool(self.view.get_throttles())

    def paging(self) -> list[OpenApiParameter]:
        """The query parameters of a list by cursor."""
        return [
            OpenApiParameter("cursor", str, description="From `next` or `previous` of another page."),
            OpenApiParameter("page_size", {"type": "integer", "minimum": 1}, description="At most 200."),
        ]
