"""Watched: effects with other limits, a watchdog that is quick, and waiting for what another thread does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from lifecycle import registry
from lifecycle.execution import watchdog

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

    def change(effect: str, **options: Any) -> None:
        definition = registry.get("parcels")
        effects = {**definition.effects, effect: replace(definition.effects[effect], **options)}
        monkeypatch.setitem(registry._definitions, "parcels", replace(definition, effects=effects))

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
