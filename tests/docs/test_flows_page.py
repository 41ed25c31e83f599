"""The page on flows: its code is typed in, and does what the page says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from lifecycle import SYSTEM
from lifecycle.flows import known, publish, start_flow
from lifecycle.models import FlowRun
from lifecycle.testing import run_due, travel
from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "how-to" / "flows.md"


@pytest.fixture
def flows(db: None) -> Iterator[Any]:
    """The page's ``flows.py``, imported and registered as an app's would be."""
    [code] = [block.text for block in blocks(PAGE) if block.title == "flows.py"]
    module: Any = ModuleType("flows")
    sys.modules["flows"] = module
    exec(compile(code, str(PAGE), "exec"), module.__dict__)
    known.register(module.Fulfilment)
    yield module
    known.unregister("shop-fulfilment")
    del sys.modules["flows"]


def test_what_the_page_starts_and_publishes_completes(flows: Any) -> None:
    [code] = [block.text for block in blocks(PAGE) if block.title == "views.py"]
    exec(compile(code, str(PAGE), "exec"), {})

    run_due()

    flow = FlowRun.objects.get(name="shop-fulfilment", flow_id="order-7")
    assert (flow.status, flow.outputs) == ("completed", ["T-A3"])


def test_a_warehouse_that_is_late_is_reminded(flows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    flow = start_flow(flows.Fulfilment, 8, actor=SYSTEM, flow_id="order-8").flow
    run_due()

    with travel(hours=49):
        run_due()
        publish(flow, "picked", flows.Picked("B1", 1), actor=SYSTEM)
        run_due()

    flow.refresh_from_db()
    assert capsys.readouterr().out == "Where is order 8?\n"
    assert flow.outputs == ["T-B1"]
