"""Attention: which runs need a person, and the sentence above the list that counts them."""

from __future__ import annotations

from django.db.models import Case, Count, IntegerField, Q, Value, When
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from lifecycle.admin.parts.icons import icon
from lifecycle.models import FollowUp, Run, RunStatus

# What the sentence above the list counts, and what stands first in the list.
NEEDS_A_PERSON = Q(follow_up__in=[FollowUp.ABANDONED, FollowUp.PENDING]) | Q(
    status__in=[RunStatus.DEAD, RunStatus.FAILED]
)
# Abandoned, waiting, dead, failed, then the rest: the rows that need a person come first.
URGENCY = Case(
    When(follow_up=FollowUp.ABANDONED, then=Value(0)),
    When(follow_up=FollowUp.PENDING, then=Value(1)),
    When(status=RunStatus.DEAD, then=Value(2)),
    When(status=RunStatus.FAILED, then=Value(3)),
    default=Value(4),
    output_field=IntegerField(),
)


def sentence() -> SafeString:
    """How many runs need a person, and of which kind, each kind linked to its rows."""
    counts = Run.objects.aggregate(
        all=Count("id", filter=NEEDS_A_PERSON),
        abandoned=Count("id", filter=Q(follow_up=FollowUp.ABANDONED)),
        dead=Count("id", filter=Q(status=RunStatus.DEAD)),
        failed=Count("id", filter=Q(status=RunStatus.FAILED)),
        waiting=Count("id", filter=Q(follow_up=FollowUp.PENDING)),
    )
    if not counts["all"]:
        return format_html("{} {}", icon("check"), _("Nothing needs a person."))
    abandoned, dead, failed, waiting = (counts[name] for name in ("abandoned", "dead", "failed", "waiting"))
    texts = [
        (
            abandoned,
            "follow_up=abandoned",
            ngettext("%d follow-up abandoned", "%d follow-ups abandoned", abandoned),
        ),
        (dead, "status=dead", ngettext("%d dead", "%d dead", dead)),
        (failed, "status=failed", ngettext("%d failed", "%d failed", failed)),
        (waiting, "follow_up=pending", ngettext("%d follow-up waiting", "%d follow-ups waiting", waiting)),
    ]
    links = ((query, text % count) for count, query, text in texts if count)
    return format_html(
        '<strong><a href="?status=attention">{}</a></strong> {}',
        ngettext("%d needs a person:", "%d need a person:", counts["all"]) % counts["all"],
        format_html_join(" ", '<a href="?{}">{}</a>', links),
    )
