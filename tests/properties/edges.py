"""Edges: inputs of the folders' transition, and whether a column of this database can give them back."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.utils.dateparse import parse_datetime

# name → (input, whether it fits)
INPUTS: dict[str, tuple[dict[str, Any], bool]] = {
    "nothing": ({}, True),
    "a title": ({"title": "Taxes"}, True),
    "a title of full length": ({"title": "x" * 50}, True),
    "a title too long": ({"title": "x" * 51}, False),
    "a title with NUL": ({"title": "a\x00b"}, False),
    "a title with half a surrogate": ({"title": "\ud800"}, False),
    "labels": ({"labels": [{"deep": [1, None, "ä"]}]}, True),
    "a weight": ({"weight": 1.5}, True),
    "an infinite weight": ({"weight": "inf"}, False),
    "a weight that is no number": ({"weight": "nan"}, False),
    "a weight past every float": ({"weight": 10**400}, False),
    "the last moment": ({"seen_at": "9999-12-31T23:59:59+00:00"}, True),
    "a moment after the last": ({"seen_at": "9999-12-31T23:59:59-14:00"}, False),
    "a moment before the first": ({"seen_at": "0001-01-01T00:00:00+14:00"}, False),
}


def stored(given: dict[str, Any]) -> dict[str, Any]:
    """What the columns hold afterwards."""
    held = dict(given)
    if isinstance(held.get("seen_at"), str):
        moment = parse_datetime(held["seen_at"])
        assert moment is not None
        held["seen_at"] = moment.astimezone(dt.UTC)
    return held
