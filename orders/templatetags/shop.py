"""Tags and filters: how the shop's pages show states, runs, times and money."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from lifecycle.models import EffectRun, TransitionLog
from orders.durations import countdown, spoken
from orders.lifecycles import OrderLifecycle
from orders.models import Order
from orders.money import money as written
from orders.turns import short

register = template.Library()

ICON_OF_TONE = {"neutral": "dot", "progress": "half", "waiting": "glass", "success": "check", "danger": "warn"}
RUN_BADGES = {
    "queued": ("neutral", "ring"),
    "running": ("progress", "half"),
    "succeeded": ("success", "check"),
    "failed": ("danger", "cross"),
    "dead": ("danger", "bolt"),
    "cancelled": ("neutral", "slash"),
}
FOLLOW_UP_BADGES = {
    "pending": ("waiting", "glass"),
    "applied": ("success", "check"),
    "dropped": ("neutral", "down"),
    "abandoned": ("danger", "flag"),
}
ACTOR_ICONS = {"user": "user", "anonymous": "user", "system": "cog", "machine": "machine"}

register.filter("spoken", spoken)
register.filter("countdown", countdown)
register.filter("short", short)


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html('<svg class="lc-icon" aria-hidden="true"><use href="#lc-i-{}"/></svg>', name)


@register.simple_tag
def state_badge(state: str, size: str = "") -> SafeString:
    shown = OrderLifecycle.definition.states[state]
    return badge(shown.meta.get("tone", "progress"), shown.label, size=size)


@register.simple_tag
def run_badge(run: EffectRun) -> SafeString:
    tone, name = RUN_BADGES[run.status]
    if run.status == "queued" and (run.attempts or run.crashes):
        tone, name = "waiting", "undo"
    return badge(tone, run.get_status_display(), icon_name=name)


@register.simple_tag
def follow_up_badge(run: EffectRun) -> SafeString:
    tone, name = FOLLOW_UP_BADGES[run.follow_up]
    return badge(tone, run.get_follow_up_display(), icon_name=name, size="is-quiet")


@register.simple_tag
def badge(tone: str, label: Any, icon_name: str = "", size: str = "") -> SafeString:
    return format_html(
        '<span class="lc-badge tone-{} {}">{}{}</span>', tone, size, icon(icon_name or ICON_OF_TONE[tone]), label
    )


@register.filter
def actor_icon(entry: TransitionLog) -> str:
    return ACTOR_ICONS[entry.actor_kind]


@register.filter
def state_label(state: str) -> Any:
    known = OrderLifecycle.definition.states.get(state)
    return known.label if known else state


@register.filter
def transition_label(name: str) -> Any:
    known = OrderLifecycle.definition.transitions.get(name)
    return known.label if known else name


@register.filter
def price(order: Any) -> str:
    """The amount of an order, a stray payment, or of what the provider reports."""
    if isinstance(order, dict):
        return written(order["amount_cents"], order["currency"])
    return written(order.amount_cents, order.currency)


@register.filter
def since(moment: dt.datetime | None, now: dt.datetime | None = None) -> str:
    """How long ago; nothing for a record that was there before its lifecycle."""
    if moment is None:
        return ""
    return spoken((now or timezone.now()) - moment)


@register.filter
def clock_time(moment: dt.datetime | str | None) -> str:
    """The time for today, date and time before."""
    if moment is None:
        return ""
    if isinstance(moment, str):
        moment = dt.datetime.fromisoformat(moment)
    local = timezone.localtime(moment)
    if local.date() == timezone.localdate():
        return local.strftime("%H:%M:%S")
    return local.strftime("%d %b %H:%M:%S")


@register.filter
def ordinal_round(order: Order) -> str:
    words = {2: "second", 3: "third", 4: "fourth", 5: "fifth"}
    return words.get(order.payment_attempt, f"{order.payment_attempt}th")


@register.simple_tag
def owing_run(entry: TransitionLog, runs: list[tuple[EffectRun, Any]]) -> EffectRun | None:
    """The run whose outcome fired an entry, if it is among those shown."""
    request_id = entry.request_id or ""
    if not request_id.startswith("$run:"):
        return None
    wanted = request_id.split(":")[1]
    return next((run for run, _ in runs if str(run.pk) == wanted), None)


@register.filter
def event_id(entry: TransitionLog) -> str:
    """The provider's event behind an entry, or nothing."""
    request_id = entry.request_id or ""
    return request_id.removeprefix("sandbox:") if request_id.startswith("sandbox:") else ""
