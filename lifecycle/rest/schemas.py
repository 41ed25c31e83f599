"""JSON Schema of a transition's input, drawn from its form and from the record fields it accepts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from django import forms
from django.core import validators
from django.db import models
from django.utils.choices import flatten_choices

from lifecycle.definition.compiled import CompiledTransition, Definition

Schema = dict[str, Any]
_MANY_CHOICES = 200


def input_schema(definition: Definition, transition: CompiledTransition) -> Schema:
    """The schema of what ``input`` may hold; a form's field wins over an accepted column of the same name."""
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name in transition.accept:
        properties[name] = of_model_field(definition.model._meta.get_field(name))
    for name, field in getattr(transition.form, "base_fields", {}).items():
        properties[name] = of_form_field(field)
        if field.required and not field.disabled:
            required.append(name)
    for name in sorted(transition.secrets - properties.keys()):
        properties[name] = {"writeOnly": True}
    for name in transition.secrets & properties.keys():
        properties[name]["writeOnly"] = True
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return schema


def of_form_field(field: forms.Field) -> Schema:
    """One form field. An unknown field class says nothing about its type rather than something wrong."""
    schema: Schema = dict(_first(_FORM_TYPES, field) or {})
    if isinstance(field, forms.ModelMultipleChoiceField):
        schema = {"type": "array", "items": _key(field.queryset)}
    elif isinstance(field, forms.ModelChoiceField):
        # The rows of a table are not listed: it may be large, and not everybody's to read.
        schema = _key(field.queryset)
    elif isinstance(field, forms.MultipleChoiceField):
        schema = {"type": "array", "items": _choices(field.choices)}
    elif isinstance(field, forms.ChoiceField):
        schema = _choices(field.choices)
    _limits(schema, field)
    _words(schema, field.label, field.help_text)
    initial = field.initial
    if isinstance(initial, (str, int, bool)) or (isinstance(initial, float) and math.isfinite(initial)):
        schema["default"] = initial
    return schema


def of_model_field(field: Any) -> Schema:
    """One column that is taken from the input as its model field validates it."""
    schema: Schema = dict(_first(_MODEL_TYPES, field) or {})
    if field.is_relation:
        schema = dict(_first(_MODEL_TYPES, field.target_field) or {})
    elif field.choices:
        schema = {**schema, **_choices(field.choices)}
    if getattr(field, "max_length", None) and schema.get("type") == "string" and "enum" not in schema:
        schema["maxLength"] = field.max_length
    _bounds(schema, field.validators)
    if field.null:
        schema = or_null(schema)
    _words(schema, field.verbose_name, field.help_text)
    return schema


def or_null(schema: Schema) -> Schema:
    """The schema, or null."""
    result = dict(schema)
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and "null" not in kinds:
        result["type"] = [*kinds, "null"]
    if "enum" in schema and None not in schema["enum"]:
        result["enum"] = [*schema["enum"], None]
    return result


_STRING: Schema = {"type": "string"}
_DECIMAL: Schema = {"type": ["string", "number"], "format": "decimal"}

# Subclasses before their bases.
_FORM_TYPES: tuple[tuple[type[Any], Schema], ...] = (
    (forms.DecimalField, _DECIMAL),
    (forms.FloatField, {"type": "number"}),
    (forms.IntegerField, {"type": "integer"}),
    (forms.NullBooleanField, {"type": ["boolean", "null"]}),
    (forms.BooleanField, {"type": "boolean"}),
    (forms.DateTimeField, {"type": "string", "format": "date-time"}),
    (forms.DateField, {"type": "string", "format": "date"}),
    (forms.TimeField, {"type": "string", "format": "time"}),
    (forms.DurationField, _STRING),
    (forms.EmailField, {"type": "string", "format": "email"}),
    (forms.URLField, {"type": "string", "format": "uri"}),
    (forms.UUIDField, {"type": "string", "format": "uuid"}),
    (forms.JSONField, {}),
    (forms.CharField, _STRING),
)

_MODEL_TYPES: tuple[tuple[type[Any], Schema], ...] = (
    (models.DecimalField, _DECIMAL),
    (models.FloatField, {"type": "number"}),
    (models.IntegerField, {"type": "integer"}),
    (models.BooleanField, {"type": "boolean"}),
    (models.DateTimeField, {"type": "string", "format": "date-time"}),
    (models.DateField, {"type": "string", "format": "date"}),
    (models.TimeField, {"type": "string", "format": "time"}),
    (models.DurationField, _STRING),
    (models.EmailField, {"type": "string", "format": "email"}),
    (models.URLField, {"type": "string", "format": "uri"}),
    (models.UUIDField, {"type": "string", "format": "uuid"}),
    (models.CharField, _STRING),
    (models.TextField, _STRING),
)


def _first(table: tuple[tuple[type[Any], Schema], ...], field: Any) -> Schema | None:
    return next((schema for cls, schema in table if isinstance(field, cls)), None)


def _choices(choices: Any) -> Schema:
    if isinstance(choices, Callable):  # type: ignore[arg-type]
        choices = choices()
    values = [value for value, _ in flatten_choices(choices) if value not in ("", None)]
    values = [getattr(value, "value", value) for value in values]
    # None: a form that sets them when it is made. A class cannot say which, and must not say that nothing fits.
    if (
        not values
        or len(values) > _MANY_CHOICES
        or not all(isinstance(value, (str, int, float, bool)) for value in values)
    ):
        return {}
    return {"enum": values}


def _key(queryset: Any) -> Schema:
    return dict(_first(_MODEL_TYPES, queryset.model._meta.pk) or {}) if queryset is not None else {}


def _limits(schema: Schema, field: forms.Field) -> None:
    if schema.get("type") == "string" and isinstance(field, forms.CharField):
        if field.max_length is not None:
            schema["maxLength"] = field.max_length
        if field.min_length is not None:
            schema["minLength"] = field.min_length
    _bounds(schema, field.validators)


def _bounds(schema: Schema, found: Any) -> None:
    if schema.get("type") not in ("integer", "number"):
        return
    for validator in found:
        limit = getattr(validator, "limit_value", None)
        limit = limit() if callable(limit) else limit
        if not isinstance(limit, (int, float)) or not math.isfinite(limit):
            continue
        if isinstance(validator, validators.MinValueValidator):
            schema["minimum"] = max(limit, schema.get("minimum", limit))
        elif isinstance(validator, validators.MaxValueValidator):
            schema["maximum"] = min(limit, schema.get("maximum", limit))


def _words(schema: Schema, title: Any, description: Any) -> None:
    if title:
        schema["title"] = str(title)
    if description:
        schema["description"] = str(description)
