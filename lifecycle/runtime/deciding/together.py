"""Together: which records of a batch can be written by one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lifecycle.runtime.deciding.orders import FiringOrder
from lifecycle.store import records


def has_hooks(order: FiringOrder) -> bool:
    """Whether hooks are called whatever the record: the transition's own, or those of its only target."""
    edge, entering = order.transition, order.definition.enter_hooks
    return bool(edge.hooks or (len(edge.targets) == 1 and entering.get(next(iter(edge.targets)))))


def leaving_by_hooks(order: FiringOrder, locked: Sequence[Any]) -> Iterator[Any]:
    """The keys of the records whose present state has hooks on leaving."""
    leaving = order.definition.leave_hooks
    if any(leaving.get(state) for state in order.transition.sources):
        for record in locked:
            if leaving.get(records.state_of(order.definition, record)):
                yield record.pk


def is_still_due(order: FiringOrder, record: Any) -> bool:
    """Whether a locked record still waits where the trigger found it, since before the moment the order names."""
    if records.state_of(order.definition, record) not in order.transition.sources:
        return False
    before = order.expect_changed_before
    changed_at = getattr(record, order.definition.changed_at_field)
    return before is None or changed_at is None or bool(changed_at < before)
