"""RunInWords work: an effect run in the words of the order's page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from lifecycle.models import Run, RunAttempt, TransitionLog
from orders.lifecycles import OrderLifecycle
from orders.web.clock_times import clock_time
from orders.web.durations import spoken

OPEN = ("queued", "running")


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """One start that did not succeed: which, what was wrong, and what came after it."""

    label: str
    error: str
    then: str


@dataclass(frozen=True, kw_only=True)
class RunInWords:
    """A run as it is told: its starts as signs and in words, its troubles, what its follow-up did."""

    run: Run
    signs: Sequence[str]
    starts: str
    troubles: Sequence[Trouble]
    follow_up: str
    result: Sequence[tuple[str, Any]]

    @property
    def is_open(self) -> bool:
        return self.run.status in OPEN


def in_words(runs: Sequence[Run], entries: Sequence[TransitionLog]) -> list[RunInWords]:
    """The runs in words; two queries however many there are."""
    tries: dict[int, list[RunAttempt]] = {run.pk: [] for run in runs}
    for attempt in RunAttempt.objects.filter(run__in=list(tries)).order_by("id"):
        tries[attempt.run_id].append(attempt)
    fired = {entry.request_id: entry for entry in entries if entry.request_id}
    return [
        RunInWords(
            run=run,
            signs=_signs(run, tries[run.pk]),
            starts=_starts(run),
            troubles=list(_troubles(run, tries[run.pk])),
            follow_up=_follow_up(run, fired.get(f"$run:{run.pk}:{run.outcome}")),
            result=_result(run),
        )
        for run in runs
    ]


def _result(run: Run) -> list[tuple[str, Any]]:
    """What came out; where there is a follow-up, its entry says it."""
    if run.follow_up != "none" or not isinstance(run.result, dict):
        return []
    return [(name, value) for name, value in run.result.items() if value is not None]


def _signs(run: Run, attempts: Sequence[RunAttempt]) -> list[str]:
    signs = ["crash" if attempt.ending == RunAttempt.Ending.CRASHED else "bad" for attempt in attempts]
    if run.status == "succeeded":
        signs.append("good")
    elif run.status == "running":
        signs.append("run")
    return signs + ["open"] * max(0, (run.max_attempts or 0) + run.crashes - len(signs))


def _starts(run: Run) -> str:
    number = run.attempts + (1 if run.status == "running" else 0)
    said = _("attempt %(number)s of %(most)s") % {"number": number, "most": run.max_attempts}
    if number == 0:
        said = _("none yet, at most %(most)s") % {"most": run.max_attempts}
    if run.crashes:
        said += ", " + ngettext("a worker was lost once", "a worker was lost %(times)s times", run.crashes) % {
            "times": run.crashes
        }
    if run.status == "running" and run.started_at is not None:
        said += ", " + _("running since %(at)s") % {"at": clock_time(run.started_at)}
    return said


def _troubles(run: Run, attempts: Sequence[RunAttempt]) -> Iterable[Trouble]:
    names = [_("First error"), _("Second error"), _("Third error")]
    for place, attempt in enumerate(attempts):
        following = attempts[place + 1].started_at if place + 1 < len(attempts) else _next_start(run)
        yield Trouble(
            label=names[place] if place < len(names) else _("Error %(number)s") % {"number": place + 1},
            error=(attempt.error or str(attempt.get_ending_display())).rstrip("."),  # "at 14:02:56" goes on
            then=_then(run, attempt, following, last=place + 1 == len(attempts)),
        )


def _next_start(run: Run) -> dt.datetime | None:
    return run.started_at if run.status in ("running", "succeeded") else None


def _then(run: Run, attempt: RunAttempt, following: dt.datetime | None, *, last: bool) -> str:
    at = clock_time(attempt.ended_at)
    if following is not None and following >= attempt.ended_at:
        return _("at %(at)s, tried again after %(pause)s") % {"at": at, "pause": spoken(following - attempt.ended_at)}
    if last and run.status == "queued":
        return _("at %(at)s, to be tried again at %(again)s") % {"at": at, "again": clock_time(run.available_at)}
    if last and run.status in ("failed", "dead"):
        return _("at %(at)s, not tried again") % {"at": at}
    return _("at %(at)s") % {"at": at}


def _follow_up(run: Run, entry: TransitionLog | None) -> str:
    if run.follow_up == "applied" and entry is not None:
        edge = OrderLifecycle.definition.transitions.get(entry.transition)
        facts = {"transition": edge.label if edge else entry.transition, "version": entry.version}
        return _("%(transition)s, version %(version)s") % facts
    if run.follow_up == "pending" and run.follow_up_due_at is not None:
        facts = {"why": run.follow_up_error, "at": clock_time(run.follow_up_due_at)}
        return _("%(why)s It will be asked again at %(at)s.") % facts
    if run.follow_up == "abandoned":
        return _("%(why)s An operator can continue it.") % {"why": run.follow_up_error}
    return str(run.follow_up_error)
