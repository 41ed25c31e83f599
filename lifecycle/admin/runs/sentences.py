"""Sentence: what happened to a run and what comes next: a line of the list, the notice of the page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from lifecycle import clock, conf, exceptions, registry
from lifecycle.admin.parts import times
from lifecycle.definition.compiled import CompiledEffect, CompiledTransition, Definition
from lifecycle.models import FollowUp, OperatorAction, Outcome, Run, RunStatus

LINE = 160


@dataclass(frozen=True, kw_only=True)
class Known:
    """What this process knows about a run: its definition, its effect, the transition its outcome asks for."""

    definition: Definition | None
    effect: CompiledEffect | None
    follow_up: CompiledTransition | None

    @property
    def follow_up_label(self) -> str:
        """The follow-up's label, or a word for it."""
        return str(self.follow_up.label) if self.follow_up is not None else _("The follow-up")


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """Two lines: what happened, what comes next."""

    happened: Any
    next: Any = ""


def known(run: Run) -> Known:
    """Looks a run's names up in this process."""
    definition = registry.find(run.lifecycle)
    effect = definition.effects.get(run.effect) if definition is not None else None
    name = None
    if effect is not None:
        name = {
            Outcome.SUCCEEDED.value: effect.on_success,
            Outcome.FAILED.value: effect.on_failure,
            Outcome.DEAD.value: effect.on_dead,
        }.get(run.outcome)
    edge = definition.transitions.get(name) if definition is not None and name else None
    return Known(definition=definition, effect=effect, follow_up=edge)


def line(run: Run, cancelled_by: OperatorAction | None = None) -> Sentence:
    """The last column of the list."""
    about = known(run)
    if run.follow_up in (FollowUp.PENDING, FollowUp.ABANDONED) and run.follow_up_tries:
        return Sentence(
            happened=format_html("<strong>{}</strong> {}", _refused(about), cut(plain(run.follow_up_error))),
            next=tries(run),
        )
    if run.follow_up == FollowUp.PENDING:
        return Sentence(happened=_("%(name)s is due.") % {"name": about.follow_up_label})
    if run.follow_up == FollowUp.DROPPED:
        said = format_html("<strong>{}</strong> {}", _dropped(about), cut(plain(run.follow_up_error)))
        return Sentence(happened=said, next=cut(run.error) if run.status != RunStatus.SUCCEEDED else "")
    return _OF_STATUS[RunStatus(run.status)](run, about, cancelled_by)


def _queued(run: Run, about: Known, _by: OperatorAction | None) -> Sentence:
    due_in = run.available_at - clock.now()
    when = _("Due now") if due_in.total_seconds() <= 0 else _("Due in %(length)s") % {"length": times.spoken(due_in)}
    if about.effect is None:
        return Sentence(happened=_("No code for it in this process."), next=_("A process that knows it will take it."))
    if not run.error:
        return Sentence(happened=when)
    again = _("Next attempt now")
    if due_in.total_seconds() > 0:
        again = _("Next attempt in %(length)s") % {"length": times.spoken(due_in)}
    return Sentence(happened=error(run), next=again)


def _running(run: Run, about: Known, _by: OperatorAction | None) -> Sentence:
    if run.lease_until is not None and run.lease_until <= clock.now():
        return Sentence(
            happened=_("The lease of %(worker)s has ended.") % {"worker": run.leased_by},
            next=_("The next tick takes it back."),
        )
    return Sentence(
        happened=_("Leased by %(worker)s until %(time)s")
        % {"worker": run.leased_by, "time": times.written(run.lease_until)},
        next=_("While a worker holds it, only “force” can retry or cancel it."),
    )


def _succeeded(run: Run, about: Known, _by: OperatorAction | None) -> Sentence:
    return Sentence(happened=_result(run) or _("Done."))


def _failed(run: Run, about: Known, _by: OperatorAction | None) -> Sentence:
    return Sentence(happened=error(run), next=_led_to(run, about))


def _dead(run: Run, about: Known, _by: OperatorAction | None) -> Sentence:
    lost = ngettext("%(n)s start never reported back.", "%(n)s starts never reported back.", run.crashes)
    said = format_html('<span class="lc-err">{}</span> {}', run.error_code or run.error_kind, lost % {"n": run.crashes})
    return Sentence(happened=said, next=_led_to(run, about))


def _cancelled(run: Run, about: Known, by: OperatorAction | None) -> Sentence:
    if by is None:
        return Sentence(happened=cut(run.error) or _("Cancelled: its stay was over."))
    who = by.actor_label or by.actor_id
    if not by.reason:
        return Sentence(happened=_("Cancelled by %(who)s") % {"who": who})
    return Sentence(happened=_("Cancelled by %(who)s: “%(why)s”") % {"who": who, "why": cut(by.reason)})


_OF_STATUS = {
    RunStatus.QUEUED: _queued,
    RunStatus.RUNNING: _running,
    RunStatus.SUCCEEDED: _succeeded,
    RunStatus.FAILED: _failed,
    RunStatus.DEAD: _dead,
    RunStatus.CANCELLED: _cancelled,
}


def error(run: Run) -> Any:
    """The last error: its code, then its text."""
    if run.error_kind == "timeout":
        return format_html('<span class="lc-err">{}</span> {}', _("Timed out"), cut(run.error))
    if run.error_kind == "heartbeat_timeout":
        return format_html('<span class="lc-err">{}</span> {}', _("Fell silent"), cut(run.error))
    if run.error_kind == "error" and run.error:
        # An exception nobody expected: its text begins with its own name.
        return format_html('<span class="lc-err">{}</span>', cut(run.error))
    code = run.error_code or run.error_kind
    return format_html('<span class="lc-err">{}</span> {}', code, cut(run.error.removeprefix(f"{code}: ")))


def tries(run: Run) -> str:
    """How often the follow-up was refused, and when it is tried again."""
    most = conf.options().follow_up_tries
    if run.follow_up == FollowUp.ABANDONED:
        refused = ngettext("Refused %(n)s time", "Refused %(n)s times", run.follow_up_tries)
        return _("%(refused)s; it waits for a person now") % {"refused": refused % {"n": run.follow_up_tries}}
    said = {"number": run.follow_up_tries, "most": most, "time": times.written(run.follow_up_due_at)}
    return _("Tried %(number)s times of %(most)s, again at %(time)s") % said


def notice(run: Run, record: str, state: str) -> tuple[str, Any, Any] | None:
    """The page's notice as tone, headline and sentence; None where nothing needs saying."""
    about = known(run)
    facts = {"effect": run.effect, "record": record, "state": state, "name": about.follow_up_label, "n": run.pk}
    if run.follow_up in (FollowUp.PENDING, FollowUp.ABANDONED):
        return _stuck_follow_up(run, about, facts)
    if run.status == RunStatus.DEAD:
        head = _("“%(effect)s” is dead: nobody knows whether the outside call was made.") % facts
        return "danger", head, _two_lines(line(run).happened, _led_to(run, about))
    if run.status == RunStatus.FAILED:
        head = _("“%(effect)s” has failed for good.") % facts
        return "danger", head, _two_lines(error(run), _led_to(run, about))
    if about.effect is None:
        return (
            "waiting",
            _("This process has no code for “%(effect)s”.") % facts,
            _(
                "It stays queued until a process that knows it takes it. Until then it cannot be retried or "
                "continued here."
            ),
        )
    if run.status == RunStatus.RUNNING and run.lease_until is not None and run.lease_until <= clock.now():
        said = line(run)
        return "waiting", said.happened, said.next
    if run.status == RunStatus.RUNNING:
        return "progress", line(run).happened, _("Load this page again to see how it ended.")
    return None


def _two_lines(first: Any, second: str) -> Any:
    return format_html("{}<br>{}", first, second) if second else first


def _stuck_follow_up(run: Run, about: Known, facts: dict[str, Any]) -> tuple[str, Any, Any]:
    heads = {
        Outcome.SUCCEEDED.value: _("“%(effect)s” is done. %(record)s does not know of it yet."),
        Outcome.FAILED.value: _("“%(effect)s” has failed. %(record)s does not know of it yet."),
        Outcome.DEAD.value: _("“%(effect)s” is dead. %(record)s does not know of it yet."),
    }
    head = heads.get(run.outcome, heads[Outcome.SUCCEEDED.value]) % facts
    if not run.follow_up_tries and not run.follow_up_error:
        return "waiting", head, _("The follow-up “%(name)s” is due and will be fired by itself.") % facts
    times_said = ngettext("%(n)s time", "%(n)s times", run.follow_up_tries) % {"n": run.follow_up_tries}
    said = _("The follow-up “%(name)s” was refused %(times)s: %(why)s") % {
        **facts,
        "times": times_said,
        "why": cut(plain(run.follow_up_error), 300),
    }
    if run.follow_up == FollowUp.ABANDONED:
        return "danger", head, said + " " + _("It is not tried again by itself: continue it once the reason is gone.")
    if run.follow_up_due_at is None:
        return "waiting", head, said
    again = _("It is tried again by itself at %(time)s, in %(length)s.") % {
        "time": times.written(run.follow_up_due_at),
        "length": times.until(run.follow_up_due_at),
    }
    return "waiting", head, f"{said} {again}"


def _refused(about: Known) -> str:
    return _("%(name)s is refused:") % {"name": about.follow_up_label}


def _dropped(about: Known) -> str:
    return _("%(name)s dropped:") % {"name": about.follow_up_label}


def _led_to(run: Run, about: Known) -> str:
    if run.follow_up == FollowUp.APPLIED and about.follow_up is not None:
        return _("It has moved the record: %(name)s.") % {"name": about.follow_up_label}
    if run.follow_up == FollowUp.NONE:
        return _("The record does not know of it: no follow-up is declared.")
    return ""


def _result(run: Run) -> str:
    if not isinstance(run.result, dict):
        return "" if run.result is None else cut(json.dumps(run.result, ensure_ascii=False))
    told = [f"{key} {value}" for key, value in run.result.items() if value not in (None, "", {}, [])]
    return cut(", ".join(told), 70)


def plain(text: str) -> str:
    """A stored error without the name of our own class in front: people read the sentence."""
    name, colon, rest = text.partition(": ")
    return rest if colon and isinstance(getattr(exceptions, name, None), type) else text


def cut(text: Any, most: int = LINE) -> str:
    """A text's first line, no longer than fits."""
    said = " ".join(str(text or "").split())
    return said if len(said) <= most else f"{said[: most - 1]}…"
