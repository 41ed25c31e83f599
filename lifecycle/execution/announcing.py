"""Announcing: the signals about a run, after the commit of its outcome."""

from __future__ import annotations

import logging
from typing import Any

from django.db import transaction

from lifecycle import signals
from lifecycle.definition.compiled import Definition
from lifecycle.definition.outcomes import Fail
from lifecycle.execution.failures import Verdict
from lifecycle.models import Run
from lifecycle.store import outcomes
from lifecycle.store.claims import ClaimedRun

log = logging.getLogger("lifecycle.execution")


def announce_failure(
    held: ClaimedRun, model: Any, has_follow_up: bool, verdict: Verdict, error: BaseException, using: str
) -> None:
    """Sends `attempt_failed` when a failed attempt has been recorded: with the exception, for what collects errors."""
    again = verdict.again_after is not None or verdict.again_at is not None

    def send() -> None:
        facts = {"lifecycle": held.lifecycle, "record_id": held.record_id, "run_id": held.id, "effect": held.effect}
        expected = isinstance(error, Fail) and has_follow_up
        for receiver, answer in signals.attempt_failed.send_robust(
            model, error=error, reason=verdict.failure.error, again=again, expected=expected, **facts
        ):
            if isinstance(answer, Exception):
                log.error("A receiver of a run's signal failed: %r", receiver, exc_info=answer)

    transaction.on_commit(send, using=using, robust=True)


def announce(run: ClaimedRun | Run, definition: Definition | None, using: str, *, dead: bool = False) -> None:
    """Sends `run_finished` (and `run_dead`) after the commit; reads nothing when nobody listens."""
    model = definition.model if definition is not None else None
    wanted = [signals.run_finished, signals.run_dead] if dead else [signals.run_finished]
    heard = [signal for signal in wanted if signal.has_listeners(model)]
    if not heard:
        return
    run_id, lifecycle, record_id = run.id, run.lifecycle, run.record_id

    def send() -> None:
        row = outcomes.load(run_id, using)
        if row is None:
            return
        for signal in heard:
            for receiver, answer in signal.send_robust(model, run=row, lifecycle=lifecycle, record_id=record_id):
                if isinstance(answer, Exception):
                    log.error("A receiver of a run's signal failed: %r", receiver, exc_info=answer)

    transaction.on_commit(send, using=using, robust=True)
