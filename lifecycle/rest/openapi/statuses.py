"""Status codes: which of them each endpoint may answer, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from lifecycle.rest import errors
from lifecycle.rest.openapi.components import Components

# What any request may meet before an endpoint has looked at it.
_EVERYWHERE = (401, 403, 406)
_WITH_A_BODY = (400, 413, 415)

OF_ENDPOINT: dict[str, tuple[int, ...]] = {
    "lifecycle_definition": (),
    "lifecycle_view": (400, 404),
    "lifecycle_history": (400, 404),
    "lifecycle_runs": (400, 404),
    "fire": (*_WITH_A_BODY, 404, 409, 422),
    "create": (*_WITH_A_BODY, 404, 409, 422),
    "retry_run": (*_WITH_A_BODY, 404, 409),
    "continue_run": (*_WITH_A_BODY, 404, 409),
    "cancel_run": (*_WITH_A_BODY, 404, 409),
    "runs": (400, 404),
    "definitions": (),
}

_MEANINGS = {
    400: "The request does not fit; `problems` says where and why, all at once. Nothing was written.",
    401: "Who calls is not known.",
    403: "The caller may not do this, whatever the record's state.",
    404: "There is no such record, run or page for this caller.",
    406: "Nothing the server renders is acceptable.",
    409: "Not now: the record is in another state or version, or something is missing. `refusals` says all of it.",
    413: "The body is too large.",
    415: "The body's content type is not read here.",
    422: "The request id was used for something else.",
    429: "Too many requests; `Retry-After` says how many seconds to wait.",
}

_EXAMPLES: dict[int, list[tuple[str, dict[str, Any]]]] = {
    400: [
        (
            "A field is missing",
            errors.body(
                "carrier: This field is required.",
                "invalid_input",
                problems=[{"field": "carrier", "code": "required", "message": "This field is required."}],
            ),
        )
    ],
    403: [
        (
            "No permission",
            errors.body(
                "You do not have permission to do this.",
                "permission_denied",
                refusals=[
                    {
                        "source": "permission",
                        "kind": "permission",
                        "code": "permission_denied",
                        "message": "You do not have permission to do this.",
                        "params": {},
                    }
                ],
            ),
        )
    ],
    404: [("Not found", errors.body("Not found.", "not_found"))],
    409: [
        (
            "Something is missing",
            errors.body(
                "Add a shipping address first.",
                "no_address",
                refusals=[
                    {
                        "source": "guard",
                        "kind": "precondition",
                        "code": "no_address",
                        "message": "Add a shipping address first.",
                        "params": {},
                    }
                ],
            ),
        ),
        ("A stale page", errors.body("The record is at version 4, not 3. Reload and try again.", "conflict")),
    ],
    422: [("Used before", errors.body("This request id was used for another request.", "request_reused"))],
}


def refused(endpoint: str, components: Components, *, throttled: bool) -> dict[int, OpenApiResponse]:
    """Every status other than success that an endpoint answers with, each with the one error body."""
    statuses: Iterable[int] = {*_EVERYWHERE, *OF_ENDPOINT[endpoint], *((429,) if throttled else ())}
    body = components.error()
    return {
        status: OpenApiResponse(
            body,
            description=f"{HTTPStatus(status).phrase}. {_MEANINGS[status]}",
            examples=[
                OpenApiExample(name, value, response_only=True, status_codes=[str(status)])
                for name, value in _EXAMPLES.get(status, ())
            ],
        )
        for status in sorted(statuses)
    }
