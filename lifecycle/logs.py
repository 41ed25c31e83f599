"""Logs: what the floors announce by signal, as lines for the people who run the system.

INFO ``lifecycle.transitions``: a refused transition. WARNING ``lifecycle.follow_ups``: a follow-up that waits for
another try (ERROR: one that was abandoned, or that met an exception). ERROR ``lifecycle.runs``: a run that is dead.
Every line carries its facts as ``record.lifecycle`` (a dict) for formatters that write JSON. A line names
records, actors, codes and the sentence of the refusal; never an input or a result.
"""

from __future__ import annotations

import logging
from typing import Any

from lifecycle import signals
from lifecycle.exceptions import LifecycleError

_UID = "lifecycle.logs"

transitions = logging.getLogger("lifecycle.transitions")
follow_ups = logging.getLogger("lifecycle.follow_ups")
runs = logging.getLogger("lifecycle.runs")


def connect() -> None:
    """Begins to listen; calling it twice changes nothing."""
    signals.transition_refused.connect(on_refused, dispatch_uid=_UID)
    signals.follow_up_refused.connect(on_follow_up_refused, dispatch_uid=_UID)
    signals.run_dead.connect(on_dead, dispatch_uid=_UID)
    signals.attempt_failed.connect(on_attempt_failed, dispatch_uid=_UID)


def on_refused(
    sender: Any, *, lifecycle: str, record_id: str, transition: str, actor: Any, error: LifecycleError, **kwargs: Any
) -> None:
    """A refusal is an answer, not a fault: INFO."""
    transitions.info(
        "%s/%s: '%s' by %s is refused (%s): %s",
        lifecycle,
        record_id or "new",
        transition,
        f"{actor.kind} {actor.id}".strip(),
        error.code,
        error,
        extra=_facts(lifecycle, record_id, transition=transition, actor=[actor.kind, actor.id], code=error.code),
    )


def on_follow_up_refused(
    sender: Any,
    *,
    lifecycle: str,
    record_id: str,
    run_id: int,
    transition: str,
    error: BaseException,
    reason: str,
    tries: int,
    abandoned: bool,
    **kwargs: Any,
) -> None:
    """A record that does not learn what happened: somebody may have to look."""
    facts = _facts(lifecycle, record_id, run_id=run_id, transition=transition, tries=tries, abandoned=abandoned)
    if not isinstance(error, LifecycleError):
        # A refusal is a state of affairs; an exception is a bug somebody should see with its frames.
        follow_ups.error(
            "%s/%s: the follow-up '%s' of run %s failed and waits: %s",
            lifecycle,
            record_id,
            transition,
            run_id,
            reason,
            exc_info=error,
            extra=facts,
        )
        return
    follow_ups.log(
        logging.ERROR if abandoned else logging.WARNING,
        "%s/%s: the follow-up '%s' of run %s %s (try %s): %s",
        lifecycle,
        record_id,
        transition,
        run_id,
        "is abandoned" if abandoned else "waits",
        tries,
        reason,
        extra=facts,
    )


def on_attempt_failed(
    sender: Any,
    *,
    lifecycle: str,
    record_id: str,
    run_id: int,
    effect: str,
    error: BaseException,
    reason: str,
    again: bool,
    expected: bool,
    **kwargs: Any,
) -> None:
    """One line per failed attempt: WARNING while it is tried again, ERROR with its frames when that was the last."""
    level = logging.WARNING if again else logging.INFO if expected else logging.ERROR
    runs.log(
        level,
        "%s/%s: '%s' (run %s) failed%s: %s",
        lifecycle,
        record_id,
        effect,
        run_id,
        " and will be called again" if again else "",
        reason,
        exc_info=error if level == logging.ERROR else None,
        extra=_facts(lifecycle, record_id, run_id=run_id, effect=effect, again=again),
    )


def on_dead(sender: Any, *, run: Any, lifecycle: str, record_id: str, **kwargs: Any) -> None:
    """An effect that was given up: the process it belongs to stands still unless ``on_dead`` moves it."""
    runs.error(
        "%s/%s: run %s of '%s' is dead (workers lost: %s): %s",
        lifecycle,
        record_id,
        run.pk,
        run.effect,
        run.crashes,
        run.error,
        extra=_facts(lifecycle, record_id, run_id=run.pk, effect=run.effect, crashes=run.crashes),
    )


def _facts(lifecycle: str, record_id: str, **more: Any) -> dict[str, Any]:
    return {"lifecycle": {"name": lifecycle, "record_id": record_id, **more}}
