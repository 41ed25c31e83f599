"""Processes of the cases in `test_readable_input.py`."""

from __future__ import annotations

from datetime import timedelta

from django import forms

from lifecycle import Lifecycle, Timeout, Transition
from tests.cases.models.readable_input import COLUMNS, Everything

S = Everything.Status


class EverythingForm(forms.Form):
    """A field of every type that Django ships, none of them required."""

    boolean = forms.BooleanField(required=False)
    char = forms.CharField(required=False, max_length=20)
    choice = forms.ChoiceField(required=False, choices=[("a", "A")])
    date = forms.DateField(required=False)
    moment = forms.DateTimeField(required=False)
    decimal = forms.DecimalField(required=False)
    duration = forms.DurationField(required=False)
    email = forms.EmailField(required=False)
    real = forms.FloatField(required=False)
    address = forms.GenericIPAddressField(required=False)
    integer = forms.IntegerField(required=False)
    json = forms.JSONField(required=False)
    many = forms.MultipleChoiceField(required=False, choices=[("a", "A")])
    null_boolean = forms.NullBooleanField(required=False)
    regex = forms.RegexField(r"^[a-z]*$", required=False)
    slug = forms.SlugField(required=False)
    typed = forms.TypedChoiceField(required=False, choices=[("1", "One")], coerce=int, empty_value=None)
    typed_many = forms.TypedMultipleChoiceField(required=False, choices=[("1", "One")], coerce=int)
    time = forms.TimeField(required=False)
    url = forms.URLField(required=False, assume_scheme="https")
    uuid = forms.UUIDField(required=False)
    link = forms.ModelChoiceField(queryset=Everything.objects.all(), required=False)
    links = forms.ModelMultipleChoiceField(queryset=Everything.objects.all(), required=False)
    combined = forms.ComboField(fields=[forms.CharField(max_length=20)], required=False)
    split = forms.SplitDateTimeField(required=False)


class EverythingLifecycle(Lifecycle[Everything]):
    class Meta:
        model = Everything
        name = "everything"
        initial = S.EMPTY

    fill = Transition(S.EMPTY, S.FULL, accept=COLUMNS)
    fill_form = Transition(S.EMPTY, S.FULL, form=EverythingForm)
    fill_both = Transition(S.EMPTY, S.FULL, form=EverythingForm, accept=["char", "boolean", "real", "moment", "json"])
    empty = Transition(S.FULL, S.EMPTY)

    empty_again = Timeout(empty, when=S.FULL, after=timedelta(hours=1))
