"""Conflict: what somebody is told whose click came after another's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle.models import TransitionLog
from orders.lifecycles import OrderLifecycle
from orders.models import Order
from orders.web.durations import spoken

# What was done meanwhile, said of who did it; anything else is named by its label.
DONE = {
    "checkout": gettext_lazy("%(who)s pressed Pay %(ago)s before you."),
    "cancel": gettext_lazy("%(who)s cancelled this order %(ago)s before you."),
    "ship": gettext_lazy("%(who)s shipped this order %(ago)s before you."),
    "refund_order": gettext_lazy("%(who)s asked for the refund %(ago)s before you."),
    "retry_refund": gettext_lazy("%(who)s retried the refund %(ago)s before you."),
    "expire": gettext_lazy("The order expired %(ago)s before your click."),
    "payment_succeeded": gettext_lazy("The order was paid %(ago)s before your click."),
    "payment_declined": gettext_lazy("The payment was declined %(ago)s before your click."),
}
BY_YOURSELF = gettext_lazy("You did “%(what)s” yourself %(ago)s earlier, perhaps in another window.")
ANYTHING = gettext_lazy("%(who)s: “%(what)s”, %(ago)s before your click.")
TOLD = 3


def sentences(order: Order, seen: int, reader: Any) -> list[str]:
    """Who did what since the version that was seen, oldest first, and which version it is now."""
    entries = list(order.lifecycle.history.filter(version__gt=seen))
    if not entries:
        return []
    versions = {"seen": seen, "now": entries[-1].version}
    told = [_sentence(entry, reader) for entry in _worth_telling(entries)]
    return [*told, _("You were looking at version %(seen)s; it is now at version %(now)s.") % versions]


def _worth_telling(entries: Sequence[TransitionLog]) -> Sequence[TransitionLog]:
    """What people and time did comes first; what the system made of it only when there is nothing else."""
    done = [entry for entry in entries if entry.actor_kind == "user" or entry.transition in DONE]
    return (done or entries)[-TOLD:]


def _sentence(entry: TransitionLog, reader: Any) -> str:
    edge = OrderLifecycle.definition.transitions.get(entry.transition)
    facts = {
        "who": entry.actor_label or entry.actor_id,
        "what": edge.label if edge else entry.transition,
        "ago": spoken(timezone.now() - entry.at),
    }
    if entry.actor_kind == "user" and entry.actor_id == str(reader.pk):
        return str(BY_YOURSELF) % facts
    return str(DONE.get(entry.transition, ANYTHING)) % facts
