"""Order page: what one order's page shows, gathered from the library's view, the runs, and the provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from lifecycle import drawing
from lifecycle.runtime import RecordView
from orders.lifecycles import OrderLifecycle
from orders.models import Order
from orders.web import console, effect_runs, expiry, next_steps, permissions
from orders.web.durations import spoken


def facts(order: Order, reader: Any, bound: Mapping[str, Any]) -> dict[str, Any]:
    """Everything on the page that comes from the record, its history and its runs.

    Args:
        bound: forms that were filled in, by transition; the others are new.
    """
    view = order.lifecycle.view(actor=reader)
    now = timezone.now()
    work = effect_runs.in_words(view.runs, view.history)
    open_now = [item for item in view.available if item.allowed and _may_try(reader, item)]
    definition = OrderLifecycle.definition
    return {
        "order": view.record,
        "view": view,
        "expiry": expiry.of(view.record, now, expiry.payment_window()),
        "standing": next_steps.STANDING.get(view.state, ""),
        "final": definition.states[view.state].final,
        "diagrams": _diagrams(view, open_now),
        "actions": [_action(item, bound) for item in open_now],
        "closed": [_closed(item, reader) for item in view.available if item not in open_now],
        "may_press": permissions.may_change(reader),
        "waits": next_steps.WAITS.get(view.state, []),
        "elsewhere": _elsewhere(view.state),
        "history": _history(view.history),
        "work": work,
        "work_open": sum(one.is_open for one in work),
        "strays": list(view.record.stray_payments.all()),
        "card": console.card(view.record),
        "now": now,
    }


def _diagrams(view: RecordView, open_now: list[Any]) -> dict[str, SafeString]:
    """The order in its lifecycle: for wide pages, near for phones, and the whole for phones that ask for it."""
    path = [(entry.version, entry.transition, entry.source or "", entry.target) for entry in reversed(view.history)]
    allowed = {item.name for item in open_now}
    drawn = {}
    for name, near in (("wide", False), ("near", True), ("full", False)):
        text = drawing.svg(
            OrderLifecycle.definition,
            current=view.state,
            path=path,
            open_transitions=allowed,
            near=near,
            ident=f"order-{name}",
        )
        drawn[name] = mark_safe(text)  # noqa: S308 - the drawing escapes every text
    drawn["legend"] = mark_safe(drawing.legend())  # noqa: S308
    return drawn


def _action(item: Any, bound: Mapping[str, Any]) -> dict[str, Any]:
    filled_in = bound.get(item.name)
    form = item.form() if filled_in is None and item.form is not None else filled_in
    targets = [OrderLifecycle.definition.states[target] for target in item.targets]
    return {"item": item, "form": form, "filled_in": filled_in is not None, "targets": targets}


def _may_try(reader: Any, item: Any) -> bool:
    return permissions.may_try(reader, OrderLifecycle.definition.transitions[item.name])


def _closed(item: Any, reader: Any) -> dict[str, Any]:
    """A button that is closed to this reader, and every reason why."""
    reasons = [] if _may_try(reader, item) else [permissions.VIEW_ONLY]
    return {"name": item.name, "label": item.label, "refusals": [*reasons, *item.refusals]}


def _elsewhere(state: str) -> list[tuple[Any, list[Any]]]:
    """The manual transitions that do not start here, and where they do; the states in the order people learn them."""
    definition = OrderLifecycle.definition
    return [
        (edge.label, [known.label for name, known in definition.states.items() if name in edge.sources])
        for edge in definition.transitions.values()
        if edge.manual and state not in edge.sources
    ]


def _history(entries: list[Any]) -> list[tuple[Any, str, str]]:
    """Newest first; with each entry how long the stay before it was, and in which state."""
    rows = []
    for entry, before in zip(entries, [*entries[1:], None], strict=False):
        stay = spoken(entry.at - before.at) if before is not None else ""
        rows.append((entry, stay, before.target if before is not None else ""))
    return rows
