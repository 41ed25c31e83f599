"""Run page: one run in all its parts, as the template shows them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _

from lifecycle import conf
from lifecycle.admin.parts import addresses, badges, labels, permissions, reasons, record_names, times
from lifecycle.admin.parts.attempts import shapes
from lifecycle.admin.parts.icons import icon
from lifecycle.admin.runs import offers, sentences
from lifecycle.admin.runs.sentences import Known, known
from lifecycle.models import FollowUp, OperatorAction, Run, RunAttempt, RunStatus, TransitionLog
from lifecycle.runtime.deciding.sentences import either


@dataclass(frozen=True, kw_only=True)
class Start:
    """One start of the run, as a line."""

    number: int
    pip: Any
    said: Any
    facts: str
    traceback: str = ""


def context(request: HttpRequest, site: Any, run: Run) -> dict[str, Any]:
    """Everything the page says."""
    about = known(run)
    record = record_names.named_one(run, request, site)
    attempts = list(RunAttempt.objects.filter(run_id=run.pk).order_by("id"))
    actions = list(OperatorAction.objects.filter(run_id=run.pk).order_by("-id")[:50])
    made = offers.offers(run, record)
    return {
        "title": _("Run"),
        "subtitle": f"{_('Run %(n)s') % {'n': run.pk}} · {run.effect}",
        "run": run,
        "seen": stamp(run),
        "record": record,
        "record_state": badges.state_badge(record.definition, record.state)
        if record.definition is not None and record.state
        else "",
        "notice": _notice(run, record),
        "badges": [badges.run_badge(run, "is-large"), badges.follow_up_badge(run, "is-large")],
        "facts": _facts(run, about, record, site),
        "attempts_title": _attempts_title(run),
        "starts": _starts(run, attempts),
        "result": _pretty(run.result),
        "checkpoint": _pretty(run.checkpoint),
        "details": _pretty(run.error_details),
        "follow_up": _follow_up(run, about),
        "offers": made,
        "force_offered": any(offer.force and offer.open for offer in made),
        "primary": next((offer.name for offer in made if offer.open and not offer.force and not offer.tone), ""),
        "actions": [
            {
                "what": labels.action_label(row.action),
                "who": row.actor_label or row.actor_id,
                "at": times.tag(row.at),
                "reason": row.reason,
                "forced": row.forced,
            }
            for row in actions
        ],
        "history_url": addresses.of(site, "lifecycle_run_history", run.pk),
        "operate": permissions.OPERATE,
    }


def stamp(run: Run) -> str:
    """What a decision about a run is made on: it changes whenever the run does."""
    return f"{run.status}.{run.fence}.{run.attempts}.{run.crashes}.{run.follow_up}.{run.follow_up_tries}"


def _notice(run: Run, record: Any) -> dict[str, Any] | None:
    said = sentences.notice(run, record.label, record.state_label)
    if said is None:
        return None
    tone, head, body = said
    icons = {"waiting": "glass", "danger": "warn", "progress": "half"}
    return {"tone": tone, "head": head, "body": body, "icon": icon(icons[tone])}


def _enqueued_by(entry: TransitionLog, about: Known, site: Any) -> Any:
    said = _("version %(version)s, %(name)s, by %(who)s at %(time)s") % {
        "version": entry.version,
        "name": labels.transition_label(about.definition, entry.transition),
        "who": entry.actor_label or entry.actor_id or entry.get_actor_kind_display(),
        "time": times.written(entry.at),
    }
    url = addresses.of(site, "lifecycle_transitionlog_change", entry.pk)
    return format_html('<a href="{}">{}</a>', url, said) if url else said


def _facts(run: Run, about: Known, record: Any, site: Any) -> list[tuple[str, Any]]:
    ago = _("%(length)s ago") % {"length": times.since(run.created_at)}
    enqueued_at = format_html("{}, {}", times.tag(run.created_at), ago)
    if run.finished_at is not None:
        enqueued_at = format_html("{}; {} {}", enqueued_at, _("finished"), times.tag(run.finished_at))
    facts: list[tuple[str, Any]] = [
        (_("Lifecycle"), run.lifecycle),
        *([(_("Enqueued by"), _enqueued_by(run.entry, about, site))] if run.entry is not None else []),
        (_("Enqueued"), enqueued_at),
    ]
    if run.reminder:
        facts.append((_("Reminder"), run.reminder))
    if run.stay_version is not None:
        facts.append((_("Stay"), _stay(run, record)))
    if run.status == RunStatus.QUEUED:
        facts.append((_("Starts"), times.tag(run.available_at)))
    if run.leased_by:
        until = _("%(worker)s until %(time)s") % {"worker": run.leased_by, "time": times.written(run.lease_until)}
        facts.append((_("Leased by"), until))
    key = format_html("<code>{}</code>, {}", run.idempotency_key, _("the same for every attempt"))
    facts += [(_("Idempotency key"), key), (_("Queue"), run.queue)]
    return facts


def _stay(run: Run, record: Any) -> str:
    facts = {"version": run.stay_version, "now": record.version}
    if record.version is None:
        return _("began with version %(version)s") % facts
    if record.is_in_stay(run):
        return _("began with version %(version)s, not over yet") % facts
    return _("began with version %(version)s and is over: the record is now at version %(now)s") % facts


def _attempts_title(run: Run) -> str:
    used = run.attempts + (1 if run.status == RunStatus.RUNNING else 0)
    if run.max_attempts is None:
        said = _("Attempts: %(n)s, no limit") % {"n": used}
    else:
        said = _("Attempts: %(n)s of %(most)s") % {"n": used, "most": max(run.max_attempts, used)}
    if run.crashes:
        said += " · " + _("crashes: %(n)s of %(most)s") % {"n": run.crashes, "most": run.max_crashes}
    return said


def _starts(run: Run, attempts: list[RunAttempt]) -> list[Start]:
    starts = [
        Start(
            number=one.number,
            pip=shapes(["crash" if one.ending == RunAttempt.Ending.CRASHED else "bad"]),
            said=format_html('<span class="lc-err">{}</span>', _what_ended(one)),
            facts=_start_facts(one.ended_at, one.started_at, one.worker),
            traceback=one.traceback,
        )
        for one in attempts
    ]
    if run.status == RunStatus.SUCCEEDED:
        # A start that simply succeeded leaves no row of its own: the run's says enough.
        starts.append(
            Start(
                number=run.attempts + run.crashes or 1,
                pip=shapes(["good"]),
                said=_("succeeded"),
                facts=_start_facts(run.finished_at, run.started_at, ""),
            )
        )
    elif run.status == RunStatus.RUNNING:
        starts.append(
            Start(
                number=run.attempts + run.crashes + 1,
                pip=shapes(["run"]),
                said=_("running"),
                facts=_start_facts(run.started_at, None, run.leased_by),
            )
        )
    return starts[::-1]


def _what_ended(one: RunAttempt) -> str:
    if one.ending == RunAttempt.Ending.CRASHED:
        return _("never reported back (worker lost)")
    if one.error_kind == "heartbeat_timeout":
        return _("fell silent")
    if one.ending == RunAttempt.Ending.TIMED_OUT:
        return _("timed out")
    return sentences.cut(one.error, 300) or one.error_code or one.error_kind


def _start_facts(at: Any, started: Any, worker: str) -> str:
    facts = [times.written(at)] if at else []
    if at and started and at >= started:
        facts.append(times.spoken(at - started))
    if worker:
        facts.append(worker)
    return " · ".join(facts)


def _follow_up(run: Run, about: Known) -> list[tuple[str, Any]]:
    if run.follow_up == FollowUp.NONE:
        return []
    rows: list[tuple[str, Any]] = []
    edge, definition = about.follow_up, about.definition
    if edge is not None and definition is not None:
        sources = either([labels.state_label(definition, one) for one in definition.states if one in edge.sources])
        way = f"{sources} {labels.to_state(definition, edge.targets)}"
        rows.append((_("Fires"), format_html("<strong>{}</strong>: {}", edge.label, way)))
        with_ = ", ".join(run.result) if run.outcome == "succeeded" and isinstance(run.result, dict) else ""
        if with_:
            rows.append((_("With"), _("%(keys)s from the result") % {"keys": with_}))
    rows.append((_("Status"), badges.follow_up_badge(run)))
    if run.follow_up_error:
        title = _("Dropped because") if run.follow_up == FollowUp.DROPPED else _("Refused because")
        rows.append((title, reasons.listed([(sentences.cut(sentences.plain(run.follow_up_error), 500), "")])))
    if run.follow_up_tries:
        most = conf.options().follow_up_tries
        rows.append((_("Tries"), _("%(n)s of %(most)s") % {"n": run.follow_up_tries, "most": most}))
    if run.follow_up == FollowUp.PENDING and run.follow_up_due_at is not None:
        most_apart = times.spoken(conf.options().follow_up_maximum)
        rule = _("by itself; the pause doubles each time, up to %(most)s") % {"most": most_apart}
        rows.append((_("Next try"), format_html("<strong>{}</strong> {}", times.tag(run.follow_up_due_at), rule)))
    if run.follow_up == FollowUp.ABANDONED:
        rows.append((_("Next try"), _("not by itself: it waits for a person to continue it")))
    return rows


def _pretty(value: Any) -> str:
    if value in (None, {}, []):
        return ""
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
