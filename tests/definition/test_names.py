"""How parts of a lifecycle are called outside of it."""

from __future__ import annotations

from lifecycle.definition.names import effect_name
from lifecycle.models import Run


def test_an_effects_full_name_says_its_lifecycle_once() -> None:
    assert effect_name("parcels", "refund_postage") == "parcels.refund_postage"
    assert effect_name("orders", "orders.refund") == "orders.refund"
    assert str(Run(pk=4, lifecycle="orders", effect="orders.refund", status="failed")) == ("orders.refund #4 (failed)")
