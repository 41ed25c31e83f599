"""Conflict: what somebody is told whose click came after another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

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


@dataclass(frozen=True, kw_only=True)
class Told:
    """What came before the click: in one line, and in sentences."""

    title: str
    sentences: list[str]


def told(order: Order, seen: int, reader: Any) -> Told:
    """Who did what since the version that was seen, oldest first, and which version it is now."""
    entries = list(order.lifecycle.history.filter(version__gt=seen))
    if not entries:
        return Told(title=_("This page is not up to date, please look again."), sentences=[])
    worth_telling = _worth_telling(entries)
    alone = all(_is_by(entry, reader) for entry in worth_telling)
    versions = {"seen": seen, "now": entries[-1].version}
    return Told(
        title=_("Done before, please look again.") if alone else _("Handled by someone else, please look again."),
        sentences=[
            *(_sentence(entry, reader) for entry in worth_telling),
            _("You were looking at version %(seen)s; it is now at version %(now)s.") % versions,
        ],
    )


def _worth_telling(entries: Sequence[TransitionLog]) -> Sequence[TransitionLog]:
    """What people and time did comes first; what the system made of it only when there is nothing else."""
    done = [entry for entry in entries if entry.actor_kind == "user" or entry.transition in DONE]
    return (done or entries)[-TOLD:]


def _sentence(entry: TransitionLog, reader: Any) -> str:
    edge = OrderLifecycle.definition.transitions.get(entry.transition)
    label = edge.label if edge is not None else pgettext("of an order", "Created")
    facts = {
        "who": entry.actor_label or entry.actor_id,
        "what": label,
        "ago": spoken(timezone.now() - entry.at),
    }
    if _is_by(entry, reader):
        return str(BY_YOURSELF) % facts
    return str(DONE.get(entry.transition, ANYTHING)) % facts


def _is_by(entry: TransitionLog, reader: Any) -> bool:
    return entry.actor_kind == "user" and entry.actor_id == str(reader.pk)
