"""Input: validated and cleaned by the transition's form and by the accepted fields of the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError

from lifecycle.definition.compiled import CompiledTransition
from lifecycle.refusals import InputProblem
from lifecycle.suggest import nearest


class CleanInput:
    """What came out: values for guards and sets, record columns to write, and everything that is wrong."""

    __slots__ = ("changes", "problems", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.changes: dict[str, Any] = {}
        self.problems: list[InputProblem] = []


def clean(edge: CompiledTransition, record: Any, given: Mapping[str, Any], *, manual: bool) -> CleanInput:
    """Cleans an input for a record; all problems are collected, nothing is raised.

    ``manual`` refuses keys that neither the form nor ``accept`` knows; server code may pass more for its hooks.
    """
    result = CleanInput()
    result.values.update(given)
    if edge.form is not None:
        _through_form(edge.form, given, result)
    if edge.accept:
        _accept(edge, record, result)
    if manual:
        _refuse_unknown(edge, given, result)
    return result


def _through_form(form_class: Any, given: Mapping[str, Any], result: CleanInput) -> None:
    form = form_class(data=dict(given))
    if form.is_valid():
        result.values.update(form.cleaned_data)
        return
    for name, errors in form.errors.as_data().items():
        result.problems += problems_of(errors, "" if name == NON_FIELD_ERRORS else name)


def _accept(edge: CompiledTransition, record: Any, result: CleanInput) -> None:
    for name in edge.accept:
        if name not in result.values:
            continue
        field = record._meta.get_field(name)
        try:
            cleaned = field.clean(_as_key(field, result.values[name]), record)
        except ValidationError as error:
            if not any(problem.field == name for problem in result.problems):
                result.problems += problems_of([error], name)
        except (TypeError, ValueError) as error:
            result.problems.append(InputProblem(field=name, code="invalid", message=str(error)))
        else:
            result.changes[field.attname] = cleaned
            if not field.is_relation:
                result.values[name] = cleaned


def _as_key(field: Any, value: Any) -> Any:
    return value.pk if field.is_relation and hasattr(value, "pk") else value


def _refuse_unknown(edge: CompiledTransition, given: Mapping[str, Any], result: CleanInput) -> None:
    known = [*getattr(edge.form, "base_fields", ()), *edge.accept]
    for key in given:
        if key in known or key in edge.secrets:
            continue
        guess = nearest(key, known)
        hint = f" Did you mean '{guess}'?" if guess else f" Known: {', '.join(known)}." if known else " It takes none."
        result.problems.append(
            InputProblem(field=str(key), code="unknown", message=f"'{edge.name}' does not know this field.{hint}")
        )


def problems_of(errors: Any, name: str) -> list[InputProblem]:
    """Django's validation errors as problems of one input field."""
    return [
        InputProblem(field=name, code=error.code or "invalid", message=message)
        for wrapper in errors
        for error in wrapper.error_list
        for message in error.messages
    ]
