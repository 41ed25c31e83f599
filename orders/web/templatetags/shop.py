"""Tags and filters: how the shop's pages show states, runs, times and money."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from lifecycle.models import Run, TransitionLog
from orders.lifecycles import OrderLifecycle
from orders.models import CURRENCY_SIGNS, Order, money
from orders.web.clock_times import clock_time
from orders.web.durations import countdown, spoken
from orders.web.next_steps import NextStep, short
from orders.web.reasons import said

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
PIPS = {
    "bad": '<path class="lc-pip-bad" d="M5 0 10 5 5 10 0 5Z"/>',
    "good": '<circle class="lc-pip-good" cx="5" cy="5" r="4.4"/>',
    "crash": '<path class="lc-pip-crash" d="M1.5 1.5 8.5 8.5M8.5 1.5 1.5 8.5"/>',
    "run": '<circle class="lc-pip-run" cx="5" cy="5" r="4"/><path class="lc-pip-run-fill" d="M5 1a4 4 0 0 1 0 8Z"/>',
    "open": '<circle class="lc-pip-open" cx="5" cy="5" r="4"/>',
}
# The provider's words for its sessions and for what our webhook answered.
SESSION_WORDS = {
    "open": gettext_lazy("open"),
    "paid": gettext_lazy("paid"),
    "declined": gettext_lazy("declined"),
    "expired": gettext_lazy("expired"),
}
# What stands in entries besides the order's own fields.
INPUT_WORDS = {
    "amount": gettext_lazy("amount"),
    "reason": gettext_lazy("reason"),
    "session_id": gettext_lazy("payment session"),
    "payment_attempt": gettext_lazy("payment attempt"),
    "error": gettext_lazy("error"),
    "code": gettext_lazy("code"),
    "details": gettext_lazy("details"),
}
CODES = frozenset({"payment_session_id", "session_id", "checkout_url", "payment_ref", "refund_ref", "code"})
ACTOR_ICONS = {"user": "user", "anonymous": "user", "system": "cog", "machine": "machine"}

register.filter("spoken", spoken)
register.filter("countdown", countdown)
register.filter("short", short)
register.filter("clock_time", clock_time)
register.filter("reason", said)


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html('<svg class="lc-icon" aria-hidden="true"><use href="#lc-i-{}"/></svg>', name)


@register.simple_tag
def state_badge(state: str, size: str = "") -> SafeString:
    shown = OrderLifecycle.definition.states[state]
    return badge(shown.meta.get("tone", "progress"), shown.label, size=size)


@register.simple_tag
def run_badge(run: Run) -> SafeString:
    tone, name = RUN_BADGES[run.status]
    if run.status == "queued" and (run.attempts or run.crashes):
        tone, name = "waiting", "undo"
    return badge(tone, run.get_status_display(), icon_name=name)


@register.simple_tag
def follow_up_badge(run: Run) -> SafeString:
    tone, name = FOLLOW_UP_BADGES[run.follow_up]
    label = _("Waits") if run.follow_up == "pending" else run.get_follow_up_display()
    return badge(tone, label, icon_name=name, size="is-quiet")


@register.simple_tag
def pips(signs: list[str]) -> SafeString:
    """A run's starts as shapes: diamond failed, cross crashed, disc succeeded, half disc running, ring not used."""
    drawn = format_html_join("", '<svg viewBox="0 0 10 10">{}</svg>', ((SafeString(PIPS[sign]),) for sign in signs))
    return format_html('<span class="lc-pips" aria-hidden="true">{}</span>', drawn)


@register.simple_tag
def next_step_badge(step: NextStep) -> SafeString:
    what: Any = step.what
    if step.expiry is not None:
        clock = format_html(
            '<span class="lc-num" data-until="{}">{}</span>', milliseconds(step.expiry.at), countdown(step.expiry.left)
        )
        what = format_html(str(step.what).replace("%(left)s", "{}"), clock)
    return badge(step.tone, what, icon_name=step.icon, size="is-quiet")


@register.simple_tag
def ago(moment: dt.datetime | None, now: dt.datetime, units: int = 2) -> SafeString:
    """A length of time that goes on while the page is looked at."""
    if moment is None:
        return SafeString("")
    return format_html(
        '<span class="lc-num" data-since="{}" data-units="{}">{}</span>',
        milliseconds(moment),
        units,
        spoken(now - moment, units),
    )


@register.filter
def milliseconds(moment: dt.datetime) -> int:
    """A moment as scripts count it."""
    return int(moment.timestamp() * 1000)


@register.simple_tag
def at(moment: dt.datetime | str) -> SafeString:
    """A moment as a ``<time>``."""
    machine = moment if isinstance(moment, str) else moment.isoformat()
    return format_html('<time datetime="{}">{}</time>', machine, clock_time(moment))


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
    """The amount of an order, a stray payment, or of what the provider reports; written as the language does."""
    cents, currency = (
        (order["amount_cents"], order["currency"]) if isinstance(order, dict) else (order.amount_cents, order.currency)
    )
    if not (get_language() or "").startswith("de"):
        return money(cents, currency)
    number = f"{cents // 100:,}".replace(",", ".")
    return f"{number},{cents % 100:02d} {CURRENCY_SIGNS.get(currency, currency)}"


@register.filter
def ordinal_round(order: Order) -> str:
    """``second payment round``; nothing for the first."""
    words = {2: _("second payment round"), 3: _("third payment round"), 4: _("fourth payment round")}
    return words.get(order.payment_attempt, _("payment round %(number)s") % {"number": order.payment_attempt})


@register.filter
def session_word(status: str) -> Any:
    return SESSION_WORDS.get(status, status)


@register.filter
def input_facts(entry: TransitionLog, order: Order) -> list[tuple[Any, Any, bool]]:
    """What was given with an entry: name, value, whether it is a code; empty values are left out."""
    given = dict(entry.input or {})
    currency = given.pop("currency", order.currency)
    if isinstance(given.get("amount_cents"), int):
        given["amount"] = price({"amount_cents": given.pop("amount_cents"), "currency": currency})
    fields = {field.name: field.verbose_name for field in Order._meta.concrete_fields}
    return [
        (fields.get(name) or INPUT_WORDS.get(name, name), value, name in CODES)
        for name, value in given.items()
        if value not in (None, "", {}, [])
    ]


@register.filter
def delivery_words(delivery: dict[str, Any]) -> str:
    """What our webhook answered to a delivery."""
    answer = delivery.get("answer") or {}
    if not delivery.get("status_code"):
        return _("not answered: %(error)s") % {"error": delivery.get("error", "")}
    said = _("answered %(status)s") % {"status": delivery["status_code"]}
    outcome = answer.get("outcome", "")
    if outcome == "replayed":
        return said + ": " + _("replayed, nothing changed")
    if outcome == "ignored":
        return said + ": " + _("ignored. %(why)s") % {"why": answer.get("reason", "")}
    if outcome == "applied" and answer.get("version"):
        said += ": " + _("applied as version %(version)s") % {"version": answer["version"]}
        return f"{said}. {answer['reason']}" if answer.get("reason") else said
    return ": ".join(part for part in (said, answer.get("reason") or answer.get("message") or "") if part)


@register.simple_tag
def states_in_words(number: int) -> str:
    """``All ten states``."""
    words = {10: _("All ten states")}
    return words.get(number) or ngettext("The one state", "All %(number)s states", number) % {"number": number}


@register.simple_tag
def enqueueing_run(entry: TransitionLog, work: list[Any]) -> Run | None:
    """The run whose outcome fired an entry, if it is among those shown."""
    request_id = entry.request_id or ""
    if not request_id.startswith("$run:"):
        return None
    wanted = request_id.split(":")[1]
    return next((one.run for one in work if str(one.run.pk) == wanted), None)


@register.filter
def event_id(entry: TransitionLog) -> str:
    """The provider's event behind an entry, or nothing."""
    request_id = entry.request_id or ""
    return request_id.removeprefix("sandbox:") if request_id.startswith("sandbox:") else ""
