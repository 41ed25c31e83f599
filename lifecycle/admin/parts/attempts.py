"""Attempts of a run: as a row of shapes, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from lifecycle.models import Run, RunAttempt, RunStatus

MOST_PIPS = 12


PIPS = {
    "bad": '<path class="lc-pip-bad" d="M5 0 10 5 5 10 0 5Z"/>',
    "crash": '<path class="lc-pip-crash" d="M1 1l8 8M9 1l-8 8"/>',
    "good": '<circle class="lc-pip-good" cx="5" cy="5" r="4.4"/>',
    "run": '<circle class="lc-pip-run" cx="5" cy="5" r="4"/><path class="lc-pip-run-fill" d="M5 1a4 4 0 0 1 0 8Z"/>',
    "open": '<circle class="lc-pip-open" cx="5" cy="5" r="4"/>',
}


def pips(run: Run, attempts: Sequence[RunAttempt]) -> SafeString:
    """The starts of a run as shapes: diamond failed, cross lost, disc succeeded, half disc running, ring not used."""
    kinds = ["crash" if one.ending == RunAttempt.Ending.CRASHED else "bad" for one in attempts]
    if run.status == RunStatus.SUCCEEDED:
        kinds.append("good")
    elif run.status == RunStatus.RUNNING:
        kinds.append("run")
    used = len(kinds) - sum(kind == "crash" for kind in kinds)
    if run.status in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.SUCCEEDED):
        kinds += ["open"] * max((run.max_attempts or 0) - used, 0)
    return shapes(kinds[-MOST_PIPS:])


def shapes(kinds: Iterable[str]) -> SafeString:
    """These shapes in a row."""
    row = "".join(f'<svg viewBox="0 0 10 10">{PIPS[kind]}</svg>' for kind in kinds)
    return mark_safe(f'<span class="lc-pips" aria-hidden="true">{row}</span>')  # noqa: S308 constants only


def attempts_in_words(run: Run) -> str:
    """``attempt 2 of 3``, ``3 crashes``, ``not started``."""
    if run.crashes and run.status == RunStatus.DEAD:
        return _("%(number)s crashes") % {"number": run.crashes}
    number = run.attempts + (1 if run.status == RunStatus.RUNNING else 0)
    if not number:
        return _("not started")
    if run.max_attempts is None:
        return _("attempt %(number)s, no limit") % {"number": number}
    return _("attempt %(number)s of %(most)s") % {"number": number, "most": max(run.max_attempts, number)}
