"""Schemas: what is said of an input is JSON Schema and OpenAPI, whatever columns and fields it has."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import pytest
from django import forms
from django.core import validators
from django.db import models
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator

from lifecycle.rest import schemas
from lifecycle.rest.openapi import dialect
from tests.cases.models.readable_input import Everything

OPTIONS: dict[type[Any], dict[str, Any]] = {
    models.DecimalField: {"max_digits": 8, "decimal_places": 2},
    models.CharField: {"max_length": 20},
    models.FilePathField: {"path": "."},
}
COLUMNS = [
    cls
    for cls in vars(models).values()
    if inspect.isclass(cls)
    and issubclass(cls, models.Field)
    and cls.__name__.endswith(("Field", "Key"))
    and not cls.__name__.endswith("AutoField")
    and cls.__name__ not in ("Field", "ManyToManyField", "GeneratedField", "CompositePrimaryKey")
]
FORM_OPTIONS: dict[type[Any], dict[str, Any]] = {
    forms.RegexField: {"regex": "^a"},
    forms.ComboField: {"fields": [forms.CharField(max_length=3)]},
    forms.MultiValueField: {"fields": [forms.CharField(), forms.CharField()]},
    forms.FilePathField: {"path": "."},
    forms.ModelChoiceField: {"queryset": Everything.objects.none()},
    forms.ModelMultipleChoiceField: {"queryset": Everything.objects.none()},
    forms.URLField: {"assume_scheme": "https"},
}
FIELDS = [
    cls
    for cls in vars(forms).values()
    if inspect.isclass(cls) and issubclass(cls, forms.Field) and cls.__name__.endswith("Field")
]


def must_be_valid(schema: dict[str, Any]) -> None:
    """It is JSON Schema, and a sample of it is what it says."""
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(dialect.sample(schema))


@pytest.mark.django_db
@pytest.mark.row("L2")
@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_together_they_are_openapi(version: str, settings: Any) -> None:
    columns = {
        f"{cls.__name__}{null}{choices}": schemas.of_model_field(column(cls, null, choices))
        for cls in COLUMNS
        for null in (False, True)
        for choices in (False, True)
    }
    fields = {cls.__name__: schemas.of_form_field(cls(**FORM_OPTIONS.get(cls, {}))) for cls in FIELDS}
    written = {name: dialect._for_3_0(one) if version < "3.1" else one for name, one in {**columns, **fields}.items()}

    validate_schema(
        {
            "openapi": version,
            "info": {"title": "x", "version": "1"},
            "paths": {},
            "components": {"schemas": {"X": {"type": "object", "properties": written}}},
        }
    )


@pytest.mark.django_db
@pytest.mark.row("L2")
@pytest.mark.parametrize("choices", [False, True], ids=["free", "choices"])
@pytest.mark.parametrize("null", [False, True], ids=["not null", "nullable"])
@pytest.mark.parametrize("cls", COLUMNS, ids=lambda cls: cls.__name__)
def test_a_column_of_every_kind_has_a_schema_that_is_one(cls: Any, null: bool, choices: bool) -> None:
    field = column(cls, null, choices)

    schema = schemas.of_model_field(field)

    must_be_valid(schema)
    assert Draft202012Validator(schema).is_valid(None) == (field.null or not {"type", "enum"} & schema.keys())


def column(cls: Any, null: bool, choices: bool) -> Any:
    """A column as a model has it."""
    if issubclass(cls, models.ForeignKey):
        field = copy.copy(Everything._meta.get_field("link"))
        field.null = null
        return field
    value = True if issubclass(cls, models.BooleanField) else "1"
    value = 1 if issubclass(cls, (models.IntegerField, models.FloatField)) else value
    field = cls("x", null=null, **OPTIONS.get(cls, {}), **({"choices": [(value, "One")]} if choices else {}))
    field.set_attributes_from_name("x")
    return field


@pytest.mark.django_db
@pytest.mark.row("L2")
@pytest.mark.parametrize("required", [False, True], ids=["optional", "required"])
@pytest.mark.parametrize("cls", FIELDS, ids=lambda cls: cls.__name__)
def test_a_form_field_of_every_kind_has_a_schema_that_is_one(cls: Any, required: bool) -> None:
    must_be_valid(schemas.of_form_field(cls(required=required, **FORM_OPTIONS.get(cls, {}))))


@pytest.mark.row("L2")
def test_limits_and_beginnings_that_json_cannot_say_are_left_out() -> None:
    endless = forms.FloatField(min_value=float("-inf"), max_value=5, initial=float("nan"))

    assert schemas.of_form_field(endless) == {"type": "number", "maximum": 5}


@pytest.mark.row("L2")
def test_a_nullable_decimal_with_limits_takes_text_numbers_and_null() -> None:
    field = models.DecimalField(
        "price", max_digits=8, decimal_places=2, null=True, validators=[validators.MinValueValidator(0)]
    )

    assert schemas.of_model_field(field)["type"] == ["string", "number", "null"]
