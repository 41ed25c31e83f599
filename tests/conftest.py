"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def behave() -> Iterator[dict[str, object]]:
    """The replaceable effects of the help desk; put back after each test."""
    from tests.desk import lifecycles

    lifecycles.calls.clear()
    lifecycles.behaviours.clear()
    lifecycles.behaviours.update(lifecycles.DEFAULTS)
    yield lifecycles.behaviours
    lifecycles.behaviours.clear()
    lifecycles.behaviours.update(lifecycles.DEFAULTS)
