"""What an accepted column is given is what the row, the history and the answer give back, or it is refused by name."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from django.db import models, transaction
from hypothesis import given
from hypothesis import strategies as st

from lifecycle import SYSTEM
from lifecycle.exceptions import InvalidInput
from lifecycle.models import TransitionLog
from lifecycle.runtime import create, fire
from tests.cases.models.readable_input import COLUMNS, Everything
from tests.properties.columns import values_for
from tests.properties.profile import MINUTES, profile


class _Undo(Exception):
    pass


@st.composite
def inputs(draw: Any) -> dict[str, Any]:
    """A column or two of every type there is, with a value for each."""
    names = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=2, unique=True))
    return {name: draw(values_for(Everything._meta.get_field(name))) for name in names}


@pytest.mark.django_db
@pytest.mark.timeout(MINUTES * 60)
@profile(examples=1000, steps=1)
@given(sent=inputs())
def test_a_column_gives_back_what_it_was_given_or_refuses_it_by_name(sent: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "DateTimeField .* received a naive datetime")
        try:
            with transaction.atomic():
                fire_and_look(sent)
                raise _Undo
        except _Undo:
            pass


def fire_and_look(sent: dict[str, Any]) -> None:
    record = create(Everything(), actor=SYSTEM)
    try:
        fired = fire(record, "fill", actor=SYSTEM, input=sent)
    except InvalidInput as error:
        named = {problem.field.split(".")[0].split("[")[0] for problem in error.problems}
        assert named <= sent.keys(), "refused without a field's name"
        row = Everything.objects.get(pk=record.pk)
        assert (row.status, TransitionLog.objects.count()) == ("empty", 1)
        return
    row = Everything.objects.get(pk=record.pk)
    for name in sent:
        assert plain(row, name) == plain(record, name), "the answer does not show the row"
        field = Everything._meta.get_field(name)
        if getattr(row, field.attname) is not None:
            field.value_to_string(row)
    assert fired.entry is not None
    entry = TransitionLog.objects.get(pk=fired.entry.pk)
    assert as_json(entry.input) == as_json(fired.entry.input) == as_json(sent)


def plain(record: Everything, name: str) -> Any:
    """A column's value, for comparison."""
    field = Everything._meta.get_field(name)
    value = getattr(record, field.attname)
    if isinstance(field, models.JSONField):
        return as_json(value)
    return bytes(value) if isinstance(value, memoryview) else value


def as_json(value: Any) -> Any:
    """What JSON says; PostgreSQL gives a large fraction back as the whole number that its shortest text names."""
    return json.loads(json.dumps(value, allow_nan=False), parse_int=float)
