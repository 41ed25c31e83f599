"""A clock to move, a dispatcher that remembers, and lifecycles with a trigger exchanged."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from lifecycle import clock, dispatch, registry
from lifecycle.definition.compiled import Definition
from lifecycle.dispatch.recording import RecordingDispatcher


class Time:
    """The time as the test has it."""

    def __init__(self) -> None:
        self.now = dt.datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now

    def passes(self, **duration: float) -> None:
        self.now += dt.timedelta(**duration)


@pytest.fixture
def time() -> Iterator[Time]:
    moving = Time()
    with clock.replaced(moving):
        yield moving


@pytest.fixture(autouse=True)
def woken() -> Iterator[RecordingDispatcher]:
    with dispatch.replaced(RecordingDispatcher()) as recorder:
        yield recorder


@pytest.fixture
def redeclare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Definition]:
    """Registers a copy of a definition with some of its parts exchanged, for this test."""

    def exchange(name: str, **parts: Any) -> Definition:
        changed = replace(registry.get(name), **parts)
        monkeypatch.setattr(registry, "_definitions", {**registry._definitions, name: changed})
        return changed

    return exchange
