"""Line: what happens to records, one short line each, for whoever watches the demo run."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from typing import Any

from django.db.models import Model
from django.utils import timezone, translation

from lifecycle import signals
from lifecycle.models import Run
from orders.lifecycles import OrderLifecycle, StrayPaymentLifecycle

WANTED = "EXAMPLE_LINES"  # set for a worker that is to print them
LONGEST = 60

DEFINITIONS = {one.definition.name: one.definition for one in (OrderLifecycle, StrayPaymentLifecycle)}


def print_in_a_worker() -> None:
    """For a process that the demo starts: each line to its log, in place of the library's own about failed attempts."""
    if os.environ.get(WANTED):
        logging.getLogger("lifecycle.runs").setLevel(logging.ERROR)
        connect(logging.getLogger("example_project.lines").info)


def connect(say: Callable[[str], None]) -> None:
    """Has every line said from now on, in this process."""

    def moved(sender: type[Model], *, record: Any, entry: Any, lifecycle: str, **_: Any) -> None:
        definition = DEFINITIONS[lifecycle]
        with translation.override("en"):
            edge = definition.transitions.get(entry.transition)
            what = edge.label if edge is not None else "Created"
            who = f" by {entry.actor_label}" if entry.actor_kind == "user" else ""
            say(f"{_named(sender, record.pk)}: {what}{who}, now {definition.states[entry.target].label}")

    def failed(
        sender: type[Model], *, record_id: str, run_id: int, effect: str, reason: str, again: bool, **_: Any
    ) -> None:
        then = f"again in {_pause(run_id)} s" if again else "not again"
        say(f"{_named(sender, record_id)}: {_short(effect)} failed ({_brief(reason)}), {then}")

    def finished(sender: type[Model], *, run: Run, record_id: str, **_: Any) -> None:
        if run.status == "succeeded":
            say(f"{_named(sender, record_id)}: {_short(run.effect)} succeeded")

    signals.transition_committed.connect(moved, weak=False)
    signals.attempt_failed.connect(failed, weak=False)
    signals.run_finished.connect(finished, weak=False)


def _named(model: type[Model], pk: Any) -> str:
    with translation.override("en"):
        return f"{model._meta.verbose_name} {pk}"


def _short(effect: str) -> str:
    return effect.rsplit(".", 1)[-1]


def _brief(reason: str) -> str:
    """An HTTP status alone, or the beginning of the sentence."""
    status = re.match(r"\d{3}\b", reason)
    return status[0] if status else reason[:LONGEST].rstrip(".")


def _pause(run_id: int) -> int:
    due = Run.objects.values_list("available_at", flat=True).get(pk=run_id)
    return max(0, round((due - timezone.now()).total_seconds()))
