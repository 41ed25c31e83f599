"""What the tests of flows share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lifecycle import SYSTEM
from lifecycle.flows import start_flow
from lifecycle.models import FlowRun
from tests.support import flows


@pytest.fixture
def does() -> Iterator[dict[str, Any]]:
    """What the steps do; put back after the test."""
    before = dict(flows.behaviours)
    yield flows.behaviours
    flows.behaviours.clear()
    flows.behaviours.update(before)


@pytest.fixture
def fulfilment(db: None) -> FlowRun:
    """A fulfilment that waits for the warehouse."""
    from lifecycle.execution.drain import drain

    started = start_flow(flows.Fulfilment, 7, actor=SYSTEM, flow_id="order-7")
    drain()
    return started.flow
