"""Entry: one entry of the history as pages show it: what happened, who did it, what was entered."""

from __future__ import annotations

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from lifecycle import registry
from lifecycle.admin.parts import addresses, labels, times
from lifecycle.admin.parts.icons import icon

ICON_OF_ACTOR = {"user": "user", "anonymous": "user", "system": "cog", "machine": "machine"}


def happened(entry: Any) -> Any:
    """A transition's label, and under it the way from state to state."""
    definition = registry.find(entry.lifecycle)
    target = labels.state_label(definition, entry.target)
    way: Any = target
    if entry.source:
        way = format_html(
            '{} <span class="lc-arrow">→</span> {}',
            labels.state_label(definition, entry.source),
            target,
        )
    return format_html(
        '<strong>{}</strong><span class="lc-second">{}</span>',
        labels.transition_label(definition, entry.transition),
        way,
    )


def who(entry: Any, site: Any, *, may_see_runs: bool = True) -> SafeString:
    """The actor with an icon, and what made it act."""
    name = icon(ICON_OF_ACTOR.get(entry.actor_kind, "user"))
    label = entry.actor_label or entry.actor_id or entry.get_actor_kind_display()
    if entry.actor_kind == "system":
        label = _("System")
    return format_html("{} {}{}", name, label, _cause(entry, site, may_see_runs=may_see_runs))


def _cause(entry: Any, site: Any, *, may_see_runs: bool) -> Any:
    request_id = entry.request_id or ""
    if request_id.startswith("$run:"):
        number = request_id.split(":")[1]
        said = _("run %(n)s") % {"n": number}
        if not (may_see_runs and number.isdecimal()):
            return _(", from %(what)s") % {"what": said}
        url = addresses.of(site, "lifecycle_run_change", number)
        return format_html(_(", from {}"), format_html('<a href="{}">{}</a>', url, said) if url else said)
    if request_id.startswith("$"):
        return ""
    if request_id and entry.actor_kind == "machine":
        return format_html(_(", event {}"), format_html("<code>{}</code>", request_id.rpartition(":")[2]))
    return ""


def entered(entry: Any, limit: int = 4) -> SafeString | str:
    """What came in with an entry: its reason, then its input as names and values (secrets are redacted in the row)."""
    told = []
    if entry.reason:
        told.append(format_html("{}", entry.reason))
    if isinstance(entry.input, dict):
        items = [(key, value) for key, value in entry.input.items() if value not in (None, "", {}, [])]
        told += [format_html("{} <code>{}</code>", key, _short(value)) for key, value in items[:limit]]
        if len(items) > limit:
            told.append(format_html("{}", _("and %(n)s more") % {"n": len(items) - limit}))
    if not told:
        return ""
    return format_html("{}" + ", {}" * (len(told) - 1), *told)


def _short(value: Any) -> str:
    text = times.shown(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
