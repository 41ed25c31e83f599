"""A healthy system, and the doctor asked about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lifecycle import SYSTEM, registry
from lifecycle.definition.compiled import Definition
from lifecycle.execution.drain import drain
from lifecycle.runtime import create, fire
from lifecycle.sweeps.tick import tick
from tests.support.models import Parcel, Ticket


@pytest.fixture
def healthy() -> None:
    """Records in the middle of their lives, work done and work that is due later, and a tick just now."""
    waiting = create(Ticket(), actor=SYSTEM)
    fire(waiting, "ask", actor=SYSTEM)
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    drain()
    tick(force=True)


@pytest.fixture
def redeclare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Definition]:
    """Registers a copy of a definition with some of its parts exchanged, for this test."""

    def exchange(name: str, **parts: Any) -> Definition:
        changed = replace(registry.get(name), **parts)
        monkeypatch.setattr(registry, "_definitions", {**registry._definitions, name: changed})
        return changed

    return exchange
