"""Triggers of a record's state: which transition a timeout or deadline fires by itself, and when."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import F
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _

from lifecycle.admin.parts import labels, times
from lifecycle.definition.compiled import CompiledDeadline, CompiledTimeout, CompiledTransition, Definition
from lifecycle.models import TriggerHold
from lifecycle.runtime import RecordView
from lifecycle.store import parameters, records


def by_itself(definition: Definition, seen: RecordView, using: str) -> list[Any]:
    """One line per timeout and deadline that looks at this state; why there is none, else."""
    told: list[Any] = []
    declared: list[CompiledTimeout | CompiledDeadline] = []
    declared += [*definition.timeouts.values(), *definition.deadlines.values()]
    triggers = [one for one in declared if seen.state in one.when]
    if not triggers:
        state = labels.state_label(definition, seen.state)
        known = definition.states.get(seen.state)
        if known is not None and known.final:
            return [_("nothing: %(state)s is final") % {"state": state}]
        return [_("nothing: no time limit in %(state)s") % {"state": state}]
    holds = {
        hold.trigger: hold
        for hold in TriggerHold.objects.using(using).filter(
            lifecycle=definition.name, record_id=records.text_id(seen.record), version=seen.version
        )
    }
    current = parameters.read(definition, using)
    for trigger in triggers:
        edge = definition.transitions[trigger.transition]
        at = _due_at(definition, trigger, seen.record, current, using)
        hold = holds.get(trigger.name)
        if hold is not None:
            said = _("%(name)s was due and was refused: %(why)s It is tried again at %(time)s.") % {
                "name": edge.label,
                "why": " ".join(str(one.get("message", "")) for one in hold.refusals if isinstance(one, dict)),
                "time": times.written(hold.retry_at),
            }
            told.append(format_html('<span class="lc-err">{}</span>', said))
        elif at is not None:
            told.append(_at(definition, edge, at))
    return told or [_("nothing: its date is not set")]


def _at(definition: Definition, edge: CompiledTransition, at: dt.datetime) -> Any:
    left = times.until(at)
    said = {"name": edge.label, "way": labels.to_state(definition, edge.targets), "left": left}
    if left == times.spoken(dt.timedelta(0)):
        return format_html(_("{} by the next tick, unless it moves on before"), f"{edge.label} {said['way']}")
    return format_html(
        _("at {} {} (in {}), unless it moves on before"), times.tag(at), f"{edge.label} {said['way']}", left
    )


def _due_at(
    definition: Definition, trigger: CompiledTimeout | CompiledDeadline, record: Any, current: Any, using: str
) -> dt.datetime | None:
    if isinstance(trigger, CompiledTimeout):
        began = getattr(record, definition.changed_at_field)
        return began + trigger.after(current) if began is not None else None
    at: Any
    if isinstance(trigger.at, str) and "__" not in trigger.at:
        at = getattr(record, trigger.at)
    else:
        expression = F(trigger.at) if isinstance(trigger.at, str) else trigger.at
        rows = definition.model._base_manager.using(using).filter(pk=record.pk)
        at = rows.annotate(_lifecycle_due_at=expression).values_list("_lifecycle_due_at", flat=True).first()
    if isinstance(at, dt.date) and not isinstance(at, dt.datetime):
        return timezone.make_aware(dt.datetime.combine(at, dt.time()))
    return at if isinstance(at, dt.datetime) else None
