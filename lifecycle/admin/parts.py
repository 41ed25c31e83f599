"""Part: a small piece of HTML that several pages show — icon, badge, attempts, reasons. Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle.definition.compiled import Definition
from lifecycle.models import EffectAttempt, EffectRun, FollowUp, RunStatus
from lifecycle.refusals import Refusal

# 16 × 16, drawn with the text's colour. Whole in each place: no sprite has to be on the page, no request is made.
ICONS = {
    "bolt": "M9.2 1.8 4 9h3.6l-.8 5.2L12 7H8.4Z",
    "check": "M3 8.6 6.3 12 13 4.6",
    "clock": "M8 2.2a5.8 5.8 0 1 0 .01 0ZM8 4.8V8l2.3 1.7",
    "cog": "M8 5.2a2.8 2.8 0 1 0 .01 0ZM8 1.6v2M8 12.4v2M1.6 8h2M12.4 8h2M3.5 3.5l1.4 1.4M11.1 11.1l1.4 1.4M3.5 12.5"
    "l1.4-1.4M11.1 4.9l1.4-1.4",
    "cross": "M4 4l8 8M12 4l-8 8",
    "dot": "M8 5.4a2.6 2.6 0 1 0 .01 0Z",
    "down": "M8 2.6v9.8M4 8.6l4 4 4-4",
    "flag": "M4 14.2V2.2M4 2.8h8.4l-2.2 2.9 2.2 2.9H4",
    "glass": "M4 2.2h8M4 13.8h8M5 2.2c0 3.2 3 4 3 5.8s-3 2.6-3 5.8M11 2.2c0 3.2-3 4-3 5.8s3 2.6 3 5.8",
    "half": "M8 2.6a5.4 5.4 0 1 0 .01 0Z",
    "machine": "M2.4 3.6h11.2v8H2.4ZM5 14h6M5.2 6.4l1.8 1.6-1.8 1.6M8.6 9.6h2.2",
    "refresh": "M13.4 8a5.4 5.4 0 1 1-1.7-3.9M13.6 1.8v3.4h-3.4",
    "ring": "M8 2.6a5.4 5.4 0 1 0 .01 0Z",
    "slash": "M8 2.6a5.4 5.4 0 1 0 .01 0ZM4.4 11.6l7.2-7.2",
    "stop": "M8 2.2a5.8 5.8 0 1 0 .01 0ZM5 8h6",
    "user": "M8 2.6a2.8 2.8 0 1 0 .01 0ZM2.8 13.8c.5-2.8 2.6-4.2 5.2-4.2s4.7 1.4 5.2 4.2",
    "warn": "M8 2.2 14.6 13.6H1.4ZM8 6.6v3.2M8 11.7v.1",
}
FILLED = {"half": "M8 2.6a5.4 5.4 0 0 1 0 10.8Z", "dot": ICONS["dot"]}

TONES = ("neutral", "progress", "waiting", "success", "danger")
ICON_OF_TONE = {"neutral": "dot", "progress": "half", "waiting": "glass", "success": "check", "danger": "warn"}
OF_STATUS = {
    RunStatus.QUEUED: ("neutral", "ring"),
    RunStatus.RUNNING: ("progress", "half"),
    RunStatus.SUCCEEDED: ("success", "check"),
    RunStatus.FAILED: ("danger", "cross"),
    RunStatus.DEAD: ("danger", "bolt"),
    RunStatus.CANCELLED: ("neutral", "slash"),
}
OF_FOLLOW_UP = {
    FollowUp.PENDING: ("waiting", "glass", gettext_lazy("Follow-up waiting")),
    FollowUp.APPLIED: ("success", "check", gettext_lazy("Follow-up applied")),
    FollowUp.DROPPED: ("neutral", "down", gettext_lazy("Follow-up dropped")),
    FollowUp.ABANDONED: ("danger", "flag", gettext_lazy("Follow-up abandoned")),
}
ICON_OF_ACTOR = {"user": "user", "anonymous": "user", "system": "cog", "machine": "machine"}
MOST_PIPS = 12


def icon(name: str) -> SafeString:
    """One icon; hidden from screen readers, the words beside it say the same."""
    filled = format_html('<path class="lc-fill" d="{}"/>', FILLED[name]) if name in FILLED else ""
    return format_html(
        '<svg class="lc-icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d="{}"/>{}</svg>',
        ICONS[name],
        filled,
    )


def badge(tone: str, label: Any, icon_name: str = "", kind: str = "") -> SafeString:
    """A tone, an icon and a word: nothing is said by colour alone."""
    return format_html(
        '<span class="lc-badge tone-{} {}">{}{}</span>', tone, kind, icon(icon_name or ICON_OF_TONE[tone]), label
    )


def state_badge(definition: Definition, state: str, kind: str = "") -> SafeString:
    """A state in its tone; one the definition does not know is told as such."""
    known = definition.states.get(state)
    if known is None:
        return badge("danger", _("%(state)s (unknown)") % {"state": state}, kind=kind)
    return badge(tone_of(definition, state), known.label, kind=kind)


def tone_of(definition: Definition, state: str) -> str:
    """The tone its ``meta`` names; else initial and final ones are neutral, others under way."""
    known = definition.states[state]
    tone = known.meta.get("tone")
    return str(tone) if tone in TONES else "neutral" if known.initial or known.final else "progress"


def run_badge(run: EffectRun, kind: str = "") -> SafeString:
    """A run's status; one queued for another attempt looks different from one never started."""
    tone, name = OF_STATUS[RunStatus(run.status)]
    label: Any = RunStatus(run.status).label
    if run.status == RunStatus.QUEUED and (run.attempts > run.retry_base or run.crashes):
        tone, name, label = "waiting", "refresh", _("Queued, retry")
    return badge(tone, label, name, kind)


def follow_up_badge(run: EffectRun, kind: str = "is-quiet") -> SafeString | str:
    """What became of the follow-up; nothing where there is none."""
    if run.follow_up == FollowUp.NONE:
        return ""
    tone, name, label = OF_FOLLOW_UP[FollowUp(run.follow_up)]
    return badge(tone, label, name, kind)


PIPS = {
    "bad": '<path class="lc-pip-bad" d="M5 0 10 5 5 10 0 5Z"/>',
    "crash": '<path class="lc-pip-crash" d="M1 1l8 8M9 1l-8 8"/>',
    "good": '<circle class="lc-pip-good" cx="5" cy="5" r="4.4"/>',
    "run": '<circle class="lc-pip-run" cx="5" cy="5" r="4"/><path class="lc-pip-run-fill" d="M5 1a4 4 0 0 1 0 8Z"/>',
    "open": '<circle class="lc-pip-open" cx="5" cy="5" r="4"/>',
}


def pips(run: EffectRun, attempts: Sequence[EffectAttempt]) -> SafeString:
    """The starts of a run as shapes: diamond failed, cross lost, disc succeeded, half disc running, ring not used."""
    kinds = ["crash" if one.ending == EffectAttempt.Ending.CRASHED else "bad" for one in attempts]
    if run.status == RunStatus.SUCCEEDED:
        kinds.append("good")
    elif run.status == RunStatus.RUNNING:
        kinds.append("run")
    used = len(kinds) - sum(kind == "crash" for kind in kinds)
    if run.status in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.SUCCEEDED):
        kinds += ["open"] * max((run.max_attempts or 0) - used, 0)
    return drawn(kinds[-MOST_PIPS:])


def drawn(kinds: Iterable[str]) -> SafeString:
    """These shapes in a row."""
    shapes = "".join(f'<svg viewBox="0 0 10 10">{PIPS[kind]}</svg>' for kind in kinds)
    return mark_safe(f'<span class="lc-pips" aria-hidden="true">{shapes}</span>')  # noqa: S308 constants only


def attempts_in_words(run: EffectRun) -> str:
    """``attempt 2 of 3``, ``3 crashes``, ``not started``."""
    if run.crashes and run.status == RunStatus.DEAD:
        return _("%(number)s crashes") % {"number": run.crashes}
    number = run.attempts + (1 if run.status == RunStatus.RUNNING else 0)
    if not number:
        return _("not started")
    if run.max_attempts is None:
        return _("attempt %(number)s, no limit") % {"number": number}
    return _("attempt %(number)s of %(most)s") % {"number": number, "most": max(run.max_attempts, number)}


def reasons(refusals: Sequence[Refusal], ident: str = "") -> SafeString:
    """Every reason for a no, readable without hovering, with the name of who asks for it."""
    return reason_list([(str(refusal), asked_by(refusal)) for refusal in refusals], ident)


def reason_list(said: Iterable[tuple[str, str]], ident: str = "") -> SafeString:
    """Reasons given as sentence and origin."""
    return format_html(
        '<ul class="lc-reasons"{}>{}</ul>',
        format_html(' id="{}"', ident) if ident else "",
        format_html_join(
            "",
            '<li>{}<span>{} <span class="lc-quiet">{}</span></span></li>',
            ((icon("stop"), sentence, origin) for sentence, origin in said),
        ),
    )


def asked_by(refusal: Refusal) -> str:
    """Where a refusal comes from, as the quiet half of its line."""
    if refusal.source == "guard":
        return _("Guard %(name)s") % {"name": refusal.name or refusal.code}
    if refusal.source == "permission":
        return _("Permission %(name)s") % {"name": refusal.name or refusal.code}
    return ""


def to_state(definition: Definition, targets: Sequence[str]) -> str:
    """``→ Fulfilled, final``; several targets with “or”."""
    told = []
    for target in targets:
        state = definition.states.get(target)
        label = str(state.label) if state is not None else target
        told.append(_("%(state)s, final") % {"state": label} if state is not None and state.final else label)
    return "→ " + _(" or ").join(told)


def state_label(definition: Definition | None, state: str | None) -> str:
    """A state's label; its bare name where nobody knows it."""
    known = definition.states.get(state or "") if definition is not None else None
    return str(known.label) if known is not None else (state or "")


def transition_label(definition: Definition | None, name: str | None) -> str:
    """A transition's label; its bare name where nobody knows it."""
    if name == "$create":
        return _("Created")
    if name == "$touch":
        return _("Edited")
    known = definition.transitions.get(name or "") if definition is not None else None
    return str(known.label) if known is not None else (name or "")
