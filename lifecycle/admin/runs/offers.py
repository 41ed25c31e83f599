"""Offer: an operator action on a run's page: what it will do, or why it is not possible, said before the click."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from lifecycle import clock
from lifecycle.admin.parts import times
from lifecycle.admin.parts.record_names import NamedRecord
from lifecycle.admin.runs.sentences import Known, known
from lifecycle.models import FollowUp, Run, RunKind, RunStatus

RETRY, CONTINUE, CANCEL = "retry", "continue", "cancel"
UNFINISHED = (RunStatus.QUEUED, RunStatus.RUNNING)
STANDING = (FollowUp.PENDING, FollowUp.ABANDONED)


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A button. ``open`` is False where the click would be refused; ``force`` where it takes force and a reason."""

    name: str
    label: str
    open: bool
    head: str
    body: str
    force: bool = False
    tone: str = ""


def offers(run: Run, record: NamedRecord) -> list[Offer]:
    """The three operator actions, the most useful one first; none for the runs of flows, which go on by themselves."""
    if run.kind != RunKind.EFFECT:
        return []
    about = known(run)
    made = [_retry(run, about, record), _continue(run, about), _cancel(run, about, record)]
    usefulness = {CONTINUE: 0, RETRY: 1, CANCEL: 2} if run.follow_up in STANDING else {RETRY: 0, CONTINUE: 1, CANCEL: 2}
    if run.status == RunStatus.QUEUED:
        usefulness = {CANCEL: 0, RETRY: 1, CONTINUE: 2}
    made.sort(key=lambda offer: usefulness[offer.name])
    return made


def done(name: str, run: Run) -> str:
    """What an operator action has come to, as a sentence."""
    about = known(run)
    if name == RETRY:
        return _("Run %(n)s is queued again.") % {"n": run.pk}
    if name == CANCEL:
        return _("Run %(n)s is cancelled.") % {"n": run.pk}
    if run.follow_up == FollowUp.APPLIED:
        return _("Run %(n)s: “%(name)s” was fired.") % {"n": run.pk, "name": about.follow_up_label}
    return _("Run %(n)s: the follow-up was dropped, the record had moved on.") % {"n": run.pk}


def leased(run: Run) -> bool:
    """Whether a worker holds it at this moment."""
    return run.status == RunStatus.RUNNING and run.lease_until is not None and run.lease_until > clock.now()


def _retry(run: Run, about: Known, record: NamedRecord) -> Offer:
    def offer(head: str, body: str, **more: Any) -> Offer:
        return Offer(**{"name": RETRY, "label": _("Retry"), "open": True, "head": head, "body": body, **more})

    if about.effect is None:
        return offer(
            _("Not possible: the effect is unknown here"),
            _("This process has no code for it, so a run queued from here might wait forever. Deploy it first."),
            open=False,
        )
    if about.effect.retry.attempts is None:
        again = _("Fresh attempts under the same idempotency key, so the other side can recognise a repeated call.")
    else:
        again = _(
            "Up to %(n)s fresh attempts under the same idempotency key, so the other side can recognise a "
            "repeated call."
        )
        again %= {"n": about.effect.retry.attempts}
    again += _stay_over(run, about, record)
    if run.status == RunStatus.SUCCEEDED:
        body = _("Its result is stored, so calling the other side again could do it twice.")
        if run.follow_up in STANDING:
            body += " " + _("What failed is the follow-up: use Continue.")
        return offer(_("Not possible: the effect has succeeded"), body, open=False)
    if run.status == RunStatus.QUEUED:
        return offer(
            _("Not possible: it is queued already"),
            _("It starts by itself at %(time)s. To stop it, cancel it.") % {"time": times.written(run.available_at)},
            open=False,
        )
    if leased(run):
        return offer(
            _("Takes it from its worker; needs force and a reason"), _lease_rule(run) + " " + again, force=True
        )
    if run.follow_up == FollowUp.APPLIED:
        return offer(
            _("Its outcome has already moved the record; needs force and a reason"),
            again + " " + _("If it fails again, its follow-up is not fired a second time."),
            force=True,
        )
    if run.follow_up in STANDING:
        return offer(
            _("Its follow-up still waits; needs force and a reason"),
            _("This drops the waiting follow-up. Usually Continue is what you want.") + " " + again,
            force=True,
        )
    return offer(_("Runs the effect again"), again)


def _stay_over(run: Run, about: Known, record: NamedRecord) -> str:
    """A run that belongs to a stay tells its record nothing once that is over; what leads there is on the record."""
    if run.stay_version is None or record.version is None or record.is_in_stay(run):
        return ""
    said = " " + _("The stay it belongs to is over: its outcome no longer moves the record.")
    names = _enqueued_again_by(about, record.state)
    if names:
        said += " " + _(
            "To do it again so that the record learns of the outcome, fire “%(name)s” on the record instead."
        ) % {"name": names[0]}
    return said


def _enqueued_again_by(about: Known, state: str) -> list[str]:
    """The transitions people may fire from here that enqueue this effect."""
    definition, effect = about.definition, about.effect
    if definition is None or effect is None:
        return []
    return [
        str(edge.label)
        for edge in definition.leaving(state)
        if edge.manual
        and (
            effect.name in edge.effects or any(effect.name in definition.enter_effects.get(t, ()) for t in edge.targets)
        )
    ]


def _continue(run: Run, about: Known) -> Offer:
    def offer(head: str, body: str, *, is_open: bool) -> Offer:
        return Offer(name=CONTINUE, label=_("Continue now"), open=is_open, head=head, body=body)

    if run.follow_up not in STANDING:
        return offer(
            _("Not possible: no follow-up waits"),
            {
                FollowUp.APPLIED: _("It has been applied: the record moved on with this outcome."),
                FollowUp.DROPPED: _("It was dropped: the record had moved on by itself."),
            }.get(FollowUp(run.follow_up), _("The effect has no outcome that the record waits for.")),
            is_open=False,
        )
    if about.effect is None:
        return offer(
            _("Not possible: the effect is unknown here"),
            _("This process does not know which transition follows. Deploy the code that declares it."),
            is_open=False,
        )
    return offer(
        _("Fires “%(name)s” with the stored outcome") % {"name": about.follow_up_label},
        _("The effect is not called again.")
        + " "
        + (
            _("If refused, it stays as it is and may be continued again.")
            if run.follow_up == FollowUp.ABANDONED
            else _("If refused, the waiting goes on as before.")
        ),
        is_open=True,
    )


def _cancel(run: Run, about: Known, record: NamedRecord) -> Offer:
    def offer(head: str, body: str, **more: Any) -> Offer:
        defaults = {"name": CANCEL, "label": _("Cancel"), "open": True, "tone": "danger"}
        return Offer(**{**defaults, "head": head, "body": body, **more})

    if run.status not in UNFINISHED:
        return offer(
            _("Not possible: it is finished"),
            _("What it led to is undone by a transition of the record, not here."),
            open=False,
        )
    stays = _("Nothing follows a cancelled run.")
    if record.state:
        stays += " " + _("The record stays in %(state)s.") % {"state": record.state_label}
        if not _people_can_leave(about, record.state):
            stays += " " + _("No person can move it from there; only system code could.")
    if leased(run):
        return offer(
            _("Takes it from its worker; needs force and a reason"), _lease_rule(run) + " " + stays, force=True
        )
    return offer(_("Ends it without an outcome"), stays)


def _lease_rule(run: Run) -> str:
    said = {"worker": run.leased_by, "time": times.written(run.lease_until)}
    return (
        _("%(worker)s is working on it (lease until %(time)s).") % said
        + " "
        + _("Its outcome is then discarded, but what the effect did outside stays done.")
    )


def _people_can_leave(about: Known, state: str) -> bool:
    return about.definition is None or any(edge.manual for edge in about.definition.leaving(state))
