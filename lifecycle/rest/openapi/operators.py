"""OperatorSchema: the endpoints for operators, described."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from lifecycle.models import FollowUp, RunStatus
from lifecycle.rest.openapi import statuses
from lifecycle.rest.openapi.components import MOMENT, TEXT, array, page
from lifecycle.rest.openapi.described import Described


class OperatorSchema(Described):
    """The lists across lifecycles."""

    def get_operation_id(self) -> str:
        """Stable: the address, and that it is a list."""
        return "_".join([*(word.replace("-", "_") for word in self._tokenize_path()), "list"])

    def get_override_parameters(self) -> list[Any]:
        """The filters of the list of runs, and its pages."""
        given: list[Any] = super().get_override_parameters()
        if self.view.endpoint != "runs":
            return given
        several: dict[str, Any] = {"style": "form", "explode": True}
        words = {"lifecycle": TEXT, "effect": TEXT, "record_id": TEXT, "error_code": TEXT}
        choices = {"status": RunStatus.values, "follow_up": FollowUp.values}
        return [
            *given,
            *(OpenApiParameter(name, array(schema), **several) for name, schema in words.items()),
            *(
                OpenApiParameter(name, array({"type": "string", "enum": [str(value) for value in values]}), **several)
                for name, values in choices.items()
            ),
            OpenApiParameter("created_before", MOMENT),
            OpenApiParameter("created_after", MOMENT),
            *self.paging(),
        ]

    def get_response_serializers(self) -> Any:
        """One page of runs, or all definitions."""
        endpoint = self.view.endpoint
        body = page(self.components.operators_run()) if endpoint == "runs" else array(self.components.definition())
        answers: dict[int, Any] = {
            200: OpenApiResponse(body, description="Newest first." if endpoint == "runs" else "All.")
        }
        return answers | statuses.refused(endpoint, self.components, throttled=self.throttled())
