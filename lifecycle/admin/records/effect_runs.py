"""Effect runs of one record, as its panel shows them."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from lifecycle.admin.parts import addresses, badges
from lifecycle.admin.parts.attempts import attempts_in_words, pips
from lifecycle.admin.runs import sentences
from lifecycle.models import Run, RunAttempt, RunStatus


def with_attempts(runs: list[Run]) -> list[tuple[Run, list[RunAttempt]]]:
    """The runs, each with its attempts; one query for all of them."""
    attempts: dict[int, list[RunAttempt]] = {}
    if runs:
        rows = RunAttempt.objects.using(runs[0]._state.db).filter(run_id__in=[run.pk for run in runs])
        for row in rows.defer("traceback").order_by("id"):
            attempts.setdefault(row.run_id, []).append(row)
    return [(run, attempts.get(run.pk, [])) for run in runs]


def title(runs: list[Run]) -> str:
    """How many are to do, and how many are done."""
    if not runs:
        return _("nothing")
    done = sum(run.status not in (RunStatus.QUEUED, RunStatus.RUNNING) for run in runs)
    pending = len(runs) - done
    told = []
    if pending:
        told.append(ngettext("%(n)s run pending", "%(n)s runs pending", pending) % {"n": pending})
    if done:
        told.append(ngettext("%(n)s run finished", "%(n)s runs finished", done) % {"n": done})
    return ", ".join(told)


def row(site: Any, run: Run, attempts: list[RunAttempt], may_see: bool) -> dict[str, Any]:
    """One run; what it said, only for those who may see runs."""
    said = sentences.line(run)
    troubled = run.status != RunStatus.SUCCEEDED or run.follow_up in ("pending", "abandoned", "dropped")
    return {
        "number": run.pk,
        "url": addresses.of(site, "lifecycle_run_change", run.pk) if may_see else "",
        "effect": run.effect,
        "badge": badges.run_badge(run),
        "pips": pips(run, attempts),
        "attempts": attempts_in_words(run),
        "enqueued_by": _("version %(n)s") % {"n": run.entry.version} if run.entry is not None else "",
        "follow_up": badges.follow_up_badge(run),
        # Errors and results may hold what only those who see runs should read.
        "said": said if may_see and troubled else None,
    }
