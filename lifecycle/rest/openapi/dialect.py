"""Dialect: JSON Schema as OpenAPI 3.0 and 3.1 write it, and a value that a schema permits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lifecycle.rest.schemas import or_null

Schema = dict[str, Any]

_SAMPLES = {
    "date-time": "2030-01-31T12:00:00Z",
    "date": "2030-01-31",
    "time": "12:00:00",
    "uuid": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "uri": "https://example.com/",
    "email": "someone@example.com",
    "decimal": "1.00",
}


def nullable(schema: Schema) -> Schema:
    """The schema, or null."""
    return for_openapi(or_null(schema))


def for_openapi(schema: Schema) -> Schema:
    """A JSON Schema in the version that the project describes its API in."""
    from drf_spectacular.settings import spectacular_settings

    # Its own question, is_jsonschema_compliant, came only with 0.30.
    return _for_3_0(schema) if spectacular_settings.OAS_VERSION.startswith("3.0") else schema


def one_of(values: Iterable[Any], description: str = "") -> Schema:
    """One of these words.

    Wrapped, because drf-spectacular makes a component of each bare enumeration in a property and names it after the
    property: the values of ``transition`` and ``status`` would quarrel with those of the project's own fields.
    """
    schema: Schema = {"allOf": [{"type": "string", "enum": [str(value) for value in values]}]}
    return {**schema, "description": description} if description else schema


def sample(schema: Schema) -> Any:
    """A value the schema permits, for examples."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        required = schema.get("required") or list(schema.get("properties", {}))
        return {name: sample(schema["properties"][name]) for name in required}
    if kind == "array":
        return [sample(schema.get("items", {}))]
    if kind in ("integer", "number"):
        return schema.get("minimum", min(1, schema.get("maximum", 1)))
    if kind == "boolean":
        return True
    text = _SAMPLES.get(schema.get("format", ""), "text")
    return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]


def _for_3_0(schema: Schema) -> Schema:
    """OpenAPI 3.0 has ``nullable`` for the type null, and no list of types."""
    result: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            result[key] = {name: _for_3_0(inner) for name, inner in value.items()}
        elif key == "items":
            result[key] = _for_3_0(value)
        else:
            result[key] = value
    kinds = result.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        if len(others) < len(kinds):
            result["nullable"] = True
        if len(others) == 1:
            result["type"] = others[0]
        else:
            del result["type"]
            text = result.pop("format", None)
            result["anyOf"] = [
                {"type": kind, "format": text} if text and kind == "string" else {"type": kind} for kind in others
            ]
    return result
