"""Parameters: defaults in the class, overrides as JSON."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest

from lifecycle import ANY, Lifecycle, Transition
from lifecycle.definition import parameters
from lifecycle.definition.parameters import InvalidParameter

KEY = UUID(int=7)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Lamp(Lifecycle[Any]):
    class Meta:
        name = "lamps"
        states = ["on", "off"]
        initial = "on"
        final = "off"

    @dataclass(frozen=True)
    class Parameters:
        window: dt.timedelta = dt.timedelta(minutes=3)
        tries: int = 3
        share: float = 0.5
        name: str = "lamp"
        enabled: bool = True
        price: Decimal = Decimal("9.90")
        since: dt.date = dt.date(2024, 1, 31)
        at: dt.datetime = dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC)
        hour: dt.time = dt.time(8, 30)
        colour: Colour = Colour.RED
        mode: Literal["fast", "slow"] = "fast"
        key: UUID = KEY
        limit: int | None = None
        days: tuple[int, ...] = (1, 2)
        rates: dict[str, Decimal] = field(default_factory=dict)

    switch = Transition(ANY, "off")


DEFINITION = Lamp.definition


class Bare(Lamp):
    class Meta:
        name = "bare"

    Parameters = None  # type: ignore[assignment]


def test_defaults_are_the_dataclass_as_declared() -> None:
    assert parameters.defaults(DEFINITION) == Lamp.Parameters()
    assert parameters.defaults(Bare.definition) is None


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("window", dt.timedelta(days=2, minutes=3, microseconds=5), "P2DT00H03M00.000005S"),
        ("tries", 5, 5),
        ("share", 0.25, 0.25),
        ("name", "küche", "küche"),
        ("enabled", False, False),
        ("price", Decimal("10.00"), "10.00"),
        ("since", dt.date(2025, 2, 1), "2025-02-01"),
        ("at", dt.datetime(2025, 2, 1, 8, tzinfo=dt.UTC), "2025-02-01T08:00:00+00:00"),
        ("hour", dt.time(9, 15), "09:15:00"),
        ("colour", Colour.BLUE, "blue"),
        ("mode", "slow", "slow"),
        ("key", UUID(int=8), str(UUID(int=8))),
        ("limit", 9, 9),
        ("limit", None, None),
        ("days", (3, 4), [3, 4]),
        ("rates", {"de": Decimal("0.19")}, {"de": "0.19"}),
    ],
)
def test_a_value_is_stored_as_json_and_read_back_as_itself(name: str, value: Any, stored: Any) -> None:
    dumped = json.loads(json.dumps(parameters.dump(value)))
    assert dumped == stored
    assert parameters.validate(DEFINITION, name, dumped) == value
    assert getattr(parameters.structure(DEFINITION, {name: dumped}), name) == value


@pytest.mark.parametrize(
    ("given", "seconds"), [("PT3M", 180), (180, 180), (1.5, 1.5), ("P1DT1S", 86401), ("0:05:00", 300)]
)
def test_a_duration_may_be_an_iso_8601_text_or_seconds(given: Any, seconds: float) -> None:
    assert parameters.validate(DEFINITION, "window", given) == dt.timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("window", "soon", "'soon' is no duration (ISO 8601 such as PT3M, or seconds)"),
        ("window", True, "True is no duration"),
        ("tries", "5", "'5' is no whole number"),
        ("tries", True, "True is no whole number"),
        ("tries", 1.5, "1.5 is no whole number"),
        ("share", "half", "'half' is no number"),
        ("name", 5, "5 is no text"),
        ("enabled", "yes", "'yes' is no true or false"),
        ("price", 9.9, "9.9 is no decimal number (as text)"),
        ("price", "NaN", "'NaN' is no decimal number"),
        ("since", "31.1.2024", "'31.1.2024' is no date (ISO 8601)"),
        ("colour", "green", "'green' is no one of 'red', 'blue'"),
        ("mode", "medium", "'medium' is no one of 'fast', 'slow'"),
        ("limit", "many", "'many' is no whole number or null"),
        ("days", ["a"], "['a'] is no tuple[int, ...]"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_what_is_expected(name: str, value: Any, expected: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        parameters.validate(DEFINITION, name, value)
    assert f"Parameter '{name}' of lifecycle 'lamps': {expected}" in str(refusal.value)
    assert refusal.value.field == name


def test_an_unknown_parameter_is_refused_with_the_nearest_right_name() -> None:
    with pytest.raises(InvalidParameter, match="has no parameter 'windw'. Did you mean 'window'?"):
        parameters.structure(DEFINITION, {"windw": 3})


def test_a_lifecycle_without_parameters_has_none_and_refuses_overrides() -> None:
    assert parameters.structure(Bare.definition, {}) is None
    with pytest.raises(InvalidParameter, match="has no parameters; got window"):
        parameters.structure(Bare.definition, {"window": 3})


def test_what_is_not_overridden_keeps_its_default() -> None:
    made = parameters.structure(DEFINITION, {"tries": 9})
    assert (made.tries, made.window) == (9, dt.timedelta(minutes=3))
