"""Badge: a status as a tone, an icon and a word. Every text is escaped."""

from __future__ import annotations

from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle import clock
from lifecycle.admin.parts.icons import icon
from lifecycle.definition.compiled import Definition
from lifecycle.models import FollowUp, Run, RunStatus

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


def run_badge(run: Run, kind: str = "") -> SafeString:
    """A run's status; one queued for another attempt looks different from one never started."""
    tone, name = OF_STATUS[RunStatus(run.status)]
    label: Any = RunStatus(run.status).label
    if run.status == RunStatus.RUNNING and run.lease_until is not None and run.lease_until <= clock.now():
        tone, name, label = "waiting", "warn", _("Lease ended")
    if run.status == RunStatus.QUEUED and (run.attempts > run.retry_base or run.crashes):
        tone, name, label = "waiting", "refresh", _("Queued, retry")
    return badge(tone, label, name, kind)


def follow_up_badge(run: Run, kind: str = "is-quiet") -> SafeString | str:
    """What became of the follow-up; nothing where there is none."""
    if run.follow_up == FollowUp.NONE:
        return ""
    tone, name, label = OF_FOLLOW_UP[FollowUp(run.follow_up)]
    return badge(tone, label, name, kind)
