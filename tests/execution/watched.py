"""Watched: effects with other limits, a watchdog that is quick, and waiting for what another thread does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.db import connections

from lifecycle import registry
from lifecycle.execution import watchdog
from lifecycle.execution.drain import drain

LIMIT = 20.0  # seconds; reaching it means that something hangs


def until(condition: Callable[[], bool]) -> None:
    """Waits for something another thread does."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        threading.Event().wait(0.01)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives an effect another definition for the test."""

    def change(effect: str, lifecycle: str = "parcels", **options: Any) -> None:
        definition = registry.get(lifecycle)
        effects = {**definition.effects, effect: replace(definition.effects[effect], **options)}
        monkeypatch.setitem(registry._definitions, lifecycle, replace(definition, effects=effects))

    return change


@pytest.fixture
def own_watchdog(monkeypatch: pytest.MonkeyPatch) -> Iterator[watchdog.Watchdog]:
    """A watchdog of this test's own, which is quick to try again."""
    monkeypatch.setattr(watchdog, "AGAIN", 0.05)
    monkeypatch.setattr(watchdog, "GRACE", 0.05)
    monkeypatch.setattr(watchdog, "IDLE", 0.05)
    mine = watchdog.Watchdog()
    monkeypatch.setattr(watchdog, "_watchdog", mine)
    yield mine
    thread = mine._thread
    if thread is not None:
        thread.join(LIMIT)
        assert not thread.is_alive()


@contextmanager
def inside(behave: dict[str, Any], effect: str) -> Iterator[threading.Event]:
    """While open, a drain in another thread is inside this effect, unless somebody sets the event."""
    release, entered = threading.Event(), threading.Event()

    def wait(ctx: Any) -> dict[str, Any]:
        entered.set()
        assert release.wait(LIMIT)
        return {"label": "L"}

    behave[effect] = wait
    with drained():
        assert entered.wait(LIMIT)
        try:
            yield release
        finally:
            release.set()


@contextmanager
def drained() -> Iterator[None]:
    """While open, another thread does one run; when left, it has done it."""

    def work() -> None:
        try:
            drain(runs=1)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join(LIMIT)
        assert not thread.is_alive()
