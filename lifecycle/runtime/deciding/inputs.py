"""Input: validated and cleaned by the transition's form and by the accepted fields of the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.translation import gettext as _

from lifecycle.definition.compiled import CompiledTransition
from lifecycle.refusals import InputProblem
from lifecycle.store import readable
from lifecycle.suggest import nearest

# What the cleaning of a field raises that was made for text and is given what JSON can say.
CHOKED = (TypeError, ValueError, ArithmeticError, AttributeError, LookupError, RecursionError)


class CleanInput:
    """What came out: values for guards and sets, record columns to write, and everything that is wrong."""

    __slots__ = ("changes", "problems", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.changes: dict[str, Any] = {}
        self.problems: list[InputProblem] = []


def clean(edge: CompiledTransition, record: Any, given: Mapping[str, Any], *, manual: bool, using: str) -> CleanInput:
    """Cleans an input for a record; all problems are collected, nothing is raised.

    What is cleaned is judged by what the columns of the database ``using`` can give back.

    ``manual`` refuses keys that neither the form nor ``accept`` knows; server code may pass more for its hooks.
    """
    result = CleanInput()
    result.values.update(given)
    if edge.form is not None:
        _through_form(edge.form, given, result)
    if edge.accept:
        _accept(edge, record, given, result, using)
    if manual:
        _refuse_unknown(edge, given, result)
    return result


def _through_form(form_class: Any, given: Mapping[str, Any], result: CleanInput) -> None:
    form = form_class(data=dict(given))
    try:
        valid = form.is_valid()
    except Exception:
        # JSON says what no HTML form does: a number for a date, a list for a choice.
        result.problems += (found := list(_choking(form)))
        if not found:
            raise
        return
    if not valid:
        for name, errors in form.errors.as_data().items():
            result.problems += problems_of(errors, "" if name == NON_FIELD_ERRORS else name)
        return
    result.values.update(form.cleaned_data)
    for name, value in form.cleaned_data.items():
        if (complaint := readable.complaint_about(value)) is not None:
            result.problems.append(InputProblem(field=name, code="invalid", message=complaint))


def _choking(form: Any) -> Iterator[InputProblem]:
    """The fields whose own cleaning fails with something else than a complaint."""
    for name, field in form.fields.items():
        try:
            field.clean(field.widget.value_from_datadict(form.data, form.files, form.add_prefix(name)))
        except ValidationError as error:
            yield from problems_of([error], name)
        except CHOKED:
            message = field.error_messages.get("invalid") or _("Enter a valid value.")
            yield InputProblem(field=name, code="invalid", message=str(message))


def _accept(edge: CompiledTransition, record: Any, given: Mapping[str, Any], result: CleanInput, using: str) -> None:
    for name in edge.accept:
        if name not in result.values or _left_out(edge.form, name, given, result.values[name]):
            continue
        if any(problem.field == name for problem in result.problems):
            continue
        field = record._meta.get_field(name)
        try:
            cleaned = readable.as_kept(field, field.clean(_as_key(field, result.values[name]), record))
        except ValidationError as error:
            result.problems += problems_of([error], name)
            continue
        except CHOKED as error:
            result.problems.append(InputProblem(field=name, code="invalid", message=str(error)))
            continue
        complaint = readable.complaint(field, cleaned, using)
        if complaint is not None:
            result.problems.append(InputProblem(field=name, code="invalid", message=complaint))
            continue
        result.changes[field.attname] = cleaned
        if not field.is_relation:
            result.values[name] = cleaned


def _left_out(form: Any, name: str, given: Mapping[str, Any], cleaned: Any) -> bool:
    """Whether a column keeps its value: its form field was not given, and the form made up none for it."""
    field = getattr(form, "base_fields", {}).get(name)
    return field is not None and name not in given and (cleaned is False or cleaned in field.empty_values)


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
