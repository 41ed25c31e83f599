"""Column: values at the edge of what each of Django's field types can keep, as JSON can say them."""

from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal
from functools import cache
from typing import Any

from django.db import connection, models
from hypothesis import strategies as st

Values = st.SearchStrategy[Any]

LONGEST = dt.timedelta(microseconds=2**63 - 1)
OFFSETS = ("", "Z", "+00:00", "+05:45", "-12:00", "+14:00", "+15:59", "-23:59")
TEXTS = st.text() | st.sampled_from(["", " ", "ä€😀", "a\x00b", "\ud800", "a\r\nb", "'\"\\%s", "null", "[]", "{}", "é"])


@cache
def values_for(field: Any) -> Values:
    """What a column may be given: mostly what is made for it, at its edges, sometimes what is made for any other."""
    own = _own(field)
    return st.one_of(own, own, own, own.map(lambda value: [value]), own.map(str), _others())


@cache
def _others() -> Values:
    return st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, *(make() for make in _PLAIN.values()))


def _own(field: Any) -> Values:
    if hasattr(field, "range_type"):
        return _ranges(field)
    if hasattr(field, "base_field"):
        return st.lists(st.none() | _own(field.base_field), max_size=3)
    if field.remote_field is not None:
        return st.integers(-1, 3) | _own(field.target_field)
    if isinstance(field, models.DecimalField):
        return _decimals(field)
    if isinstance(field, models.IntegerField):
        return _whole_numbers(field)
    made = next((make for kind, make in _PLAIN.items() if isinstance(field, kind)), None)
    if made is not None:
        return made()
    assert isinstance(field, (models.CharField, models.TextField)), f"no values for {type(field).__name__}"
    return _texts(field)


def _ranges(field: Any) -> Values:
    ordinary = st.datetimes().map("{}Z".format) if isinstance(field.base_field, models.DateTimeField) else st.integers()
    bound = st.none() | ordinary | _own(field.base_field)
    written = st.fixed_dictionaries({"lower": bound, "upper": bound}).map(json.dumps)
    return st.lists(ordinary, min_size=2, max_size=2).map(sorted) | st.lists(bound, max_size=3) | written


def _whole_numbers(field: Any) -> Values:
    smallest, largest = connection.ops.integer_field_range(field.get_internal_type())
    edges = {0, 2**15, 2**31, 2**63, 10**400, smallest or 0, largest or 0}
    near = st.sampled_from(sorted(edges)).flatmap(lambda edge: st.integers(edge - 1, edge + 1))
    return near | near.map(lambda number: -number) | st.sampled_from(["1_000", " 7 ", "7.0", "٣", True, 1.0, 1.5])


def _decimals(field: Any) -> Values:
    step = Decimal(1).scaleb(-field.decimal_places)
    largest = Decimal(10) ** (field.max_digits - field.decimal_places) - step
    edge = st.sampled_from([Decimal(0), step, largest, largest + step, largest + step / 2, step / 10, Decimal("1e999")])
    return (edge | edge.map(lambda number: -number)).map(str) | st.floats() | st.decimals().map(str)


def _texts(field: Any) -> Values:
    shaped = {
        models.EmailField: [
            "a@b.example",
            "a@b",
            "ä@b.example",
            f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 55}.example",
        ],
        models.URLField: ["https://b.example/", "https://b.example/\x00", f"https://b.example/{'a' * 182}", "//b"],
        models.SlugField: ["a-b_1", "ä", "a b", "-"],
    }
    own = next((texts for kind, texts in shaped.items() if isinstance(field, kind)), [])
    long = st.none()
    if field.max_length is not None:
        long = st.builds(
            lambda character, more: character * (field.max_length + more),
            st.sampled_from("aä😀 "),
            st.integers(-1, 1),
        )
    return long | TEXTS | st.sampled_from([*own, *(own or ["x"])])


def _moments() -> Values:
    edges = st.sampled_from(
        ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999", "2026-03-29T02:30:00", "2026-01-01 12:00", "2026-01-01T"]
    )
    return st.builds("{}{}".format, edges | st.datetimes().map(str), st.sampled_from(OFFSETS))


def _days() -> Values:
    return st.dates().map(str) | st.sampled_from(
        ["0001-01-01", "9999-12-31", "0000-12-31", "10000-01-01", "2026-02-29"]
    )


def _times() -> Values:
    return st.times().map(str) | st.sampled_from(["23:59:59.999999", "24:00", "00:00", "12:00+01:00"])


def _durations() -> Values:
    edge = st.sampled_from([dt.timedelta(0), LONGEST, LONGEST + dt.timedelta(microseconds=1), -dt.timedelta.min])
    return (edge | edge.map(lambda length: -length) | st.timedeltas()).map(str)


def _addresses() -> Values:
    return st.ip_addresses().map(str) | st.sampled_from(["::ffff:1.2.3.4", "::1", "0::0:1", "256.1.1.1", "1.2.3.4/8"])


def _json() -> Values:
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.sampled_from([2**70, 1e308, -0.0])
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
    )


# What depends on the kind of a column alone.
_PLAIN: dict[type[models.Field[Any, Any]], Any] = {
    models.DateTimeField: _moments,
    models.DateField: _days,
    models.TimeField: _times,
    models.DurationField: _durations,
    models.BooleanField: lambda: st.booleans() | st.sampled_from(["true", "f", "1", 0, 2, "yes"]),
    models.FloatField: lambda: st.floats() | st.floats().map(str) | st.sampled_from(["1e400", "1_0", 10**400]),
    models.UUIDField: lambda: st.uuids().map(str) | st.sampled_from(["0" * 32, "g" * 32, 2**128 - 1, 2**128, -1]),
    models.GenericIPAddressField: _addresses,
    models.BinaryField: lambda: st.binary().map(lambda data: base64.b64encode(data).decode()) | TEXTS,
    models.JSONField: _json,
}
