"""Request bodies of the endpoints that write."""

from __future__ import annotations

from lifecycle.models import OperatorAction, TransitionLog
from lifecycle.rest.openapi.dialect import Schema, nullable, one_of


def fire(transitions: list[str], given: Schema, *, required: tuple[str, ...]) -> Schema:
    """The body of a fire of one of these transitions."""
    return {
        "type": "object",
        "properties": {
            "transition": one_of(transitions),
            "input": given,
            "request_id": nullable(request_id()),
            "expect_version": nullable(
                {"type": "integer", "minimum": 0, "description": "Refused with 409 when the record has moved on."}
            ),
        },
        "required": ["transition", *required],
        "additionalProperties": False,
    }


def operator_action(*, force: bool) -> Schema:
    """The body of an operator action."""
    longest = OperatorAction._meta.get_field("reason").max_length
    properties: dict[str, Schema] = {
        "reason": nullable({"type": "string", "maxLength": longest, "description": "Kept in the audit row."})
    }
    if force:
        properties["force"] = nullable({"type": "boolean", "description": "Even though a worker may be at it."})
    return {"type": "object", "properties": properties, "additionalProperties": False}


def request_id() -> Schema:
    """The caller's own key of a request."""
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": TransitionLog._meta.get_field("request_id").max_length,
        "pattern": r"^[^$\s][^\x00-\x1f]*$",
        "description": "The caller's own key: a repeat under the same key is answered as the first, and done once.",
    }
