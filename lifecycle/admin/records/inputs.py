"""InputForm: a transition's input as a page asks for it; what is wrong with it, the runtime alone says."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.forms.fields import InvalidJSONInput
from django.utils.translation import gettext_lazy as _

from lifecycle.definition.compiled import CompiledTransition, Definition
from lifecycle.refusals import InputProblem

PREFIX = "input"
REASON = "lifecycle_reason"
REASON_LIMIT = 500

# The browser's own pickers: they need no script.
NATIVE: dict[type[forms.Field], tuple[str, str]] = {
    forms.DateField: ("date", "%Y-%m-%d"),
    forms.TimeField: ("time", "%H:%M"),
    forms.DateTimeField: ("datetime-local", "%Y-%m-%dT%H:%M"),
}


class InputForm(forms.Form):
    """The fields of a transition's own form and those of the record it accepts, and the reason.

    It never validates by itself: buttons, REST and this page then refuse the same things in the same words.
    """

    def __init__(self, *args: Any, fields: Mapping[str, forms.Field], **kwargs: Any) -> None:
        self.problems: list[InputProblem] = []
        super().__init__(*args, **kwargs)
        self.fields.update(fields)
        self.fields[REASON] = forms.CharField(
            label=_("Reason"),
            required=False,
            max_length=REASON_LIMIT,
            help_text=_("Optional; kept in the history with your name."),
            widget=forms.TextInput(attrs={"maxlength": REASON_LIMIT}),
        )

    def full_clean(self) -> None:
        """Shows the problems that the runtime found."""
        self._errors = forms.utils.ErrorDict()
        self.cleaned_data = {}
        for problem in self.problems:
            name = problem.field if problem.field in self.fields else NON_FIELD_ERRORS
            if problem.field == "reason":
                name = REASON
            text = str(problem.message) if name != NON_FIELD_ERRORS else str(problem)
            self.add_error(None if name == NON_FIELD_ERRORS else name, ValidationError(text, code=problem.code))

    def show(self, problems: Iterable[InputProblem]) -> None:
        """Puts what is wrong beside the fields."""
        self.problems = list(problems)
        self.full_clean()

    @property
    def asks(self) -> bool:
        """Whether it asks for more than a reason."""
        return len(self.fields) > 1

    def given(self) -> dict[str, Any]:
        """The input as posted: plain values by name; fields left empty and optional are left out."""
        values = {}
        for name, field in self.fields.items():
            if name == REASON:
                continue
            value = field.widget.value_from_datadict(self.data, self.files, self.add_prefix(name))
            if value in (None, "") and not field.required and not getattr(field, "lifecycle_empty_counts", False):
                continue
            values[name] = "" if value is None else _with_zone(field, value)
        return values

    def reason(self) -> str:
        """The reason as posted."""
        return str(self.data.get(self.add_prefix(REASON), "")).strip()


def form_for(definition: Definition, edge: CompiledTransition, record: Any = None, data: Any = None) -> InputForm:
    """The form of one transition; accepted columns begin with the record's values."""
    return InputForm(data, fields=fields_of(definition, edge, record), prefix=PREFIX)


def fields_of(definition: Definition, edge: CompiledTransition, record: Any = None) -> dict[str, forms.Field]:
    """The fields by input key: the transition's form first, then accepted columns that it does not name."""
    fields: dict[str, forms.Field] = {}
    if edge.form is not None:
        fields.update({name: copy.deepcopy(field) for name, field in edge.form().fields.items()})
    for name in edge.accept:
        if name in fields:
            _begin_with(fields[name], definition.model._meta.get_field(name), record)
        else:
            made = _column(definition.model._meta.get_field(name), record)
            if made is not None:
                fields[name] = made
    for field in fields.values():
        if isinstance(field, forms.JSONField):
            # What was typed is shown again, also where no parser can follow it.
            field.bound_data = partial(_as_typed, field)  # type: ignore[method-assign]
        native = NATIVE.get(type(field))
        if native is not None and type(field.widget) in (forms.DateInput, forms.TimeInput, forms.DateTimeInput):
            kind, written = native
            field.widget = type(field.widget)(attrs={"type": kind}, format=written)
    return fields


def _as_typed(field: forms.JSONField, data: Any, initial: Any) -> Any:
    try:
        return type(field).bound_data(field, data, initial)
    except (ValueError, RecursionError):
        return InvalidJSONInput(data)


def asks_for(definition: Definition, edge: CompiledTransition) -> list[str]:
    """The labels of what a transition asks for, as a sentence lists them."""
    return [
        str(field.label or name.replace("_", " ").capitalize()) for name, field in fields_of(definition, edge).items()
    ]


def _with_zone(field: forms.Field, value: Any) -> Any:
    """A typed date and time is meant in the page's time zone; as it came it would be in none."""
    if not isinstance(field, forms.DateTimeField) or not isinstance(value, str):
        return value
    try:
        moment = field.clean(value)
    except ValidationError:
        return value
    return moment.isoformat() if moment is not None else value


def _column(column: Any, record: Any) -> forms.Field | None:
    made: forms.Field | None = column.formfield()
    if made is not None:
        made.initial = None  # of a new record; this one has a value
        _begin_with(made, column, record)
    return made


def _begin_with(field: Any, column: Any, record: Any) -> None:
    """A field of an accepted column shows what the record has; emptied, it says so: that is a value of its own."""
    if record is None:  # for many records: what is left empty leaves each as it is
        return
    if field.initial is None:
        field.initial = column.value_from_object(record)
    field.lifecycle_empty_counts = True
