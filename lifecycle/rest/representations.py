"""Representation: entries, runs and open transitions as JSON."""

from __future__ import annotations

from typing import Any

from lifecycle.models import FollowUp, Run, TransitionLog
from lifecycle.rest.descriptions import plain
from lifecycle.rest.errors import shown
from lifecycle.runtime import Availability

# Runs that ended so have a text that no one wrote for readers of the record: addresses, hosts, parts of statements.
EXCEPTIONS = frozenset({"error", "invalid_result"})


def entry(row: TransitionLog, *, operator: bool = False) -> dict[str, Any]:
    """One entry of the history. For operators: the request id, which is its sender's, and what an exception said."""
    data = {
        "version": row.version,
        "transition": row.transition,
        "source": row.source,
        "target": row.target,
        "actor": {"kind": row.actor_kind, "id": row.actor_id, "label": row.actor_label},
        "input": row.input if operator else _without_exception(row),
        "reason": row.reason,
        "at": row.at,
    }
    if operator:
        data["request_id"] = row.request_id
    return data


def run(row: Run, *, operator: bool = False) -> dict[str, Any]:
    """One effect run. What is inside it — result, checkpoint, keys, workers, an exception's text — is for operators."""
    data = {
        "id": row.pk,
        "effect": row.effect,
        "status": row.status,
        "attempts": row.attempts,
        "max_attempts": row.max_attempts,
        "crashes": row.crashes,
        "available_at": row.available_at,
        "outcome": row.outcome,
        "error_kind": row.error_kind,
        "error_code": row.error_code,
        "error": row.error if operator or row.error_kind not in EXCEPTIONS else "",
        "follow_up": row.follow_up,
        "follow_up_due_at": row.follow_up_due_at,
        "follow_up_error": row.follow_up_error if operator or row.follow_up == FollowUp.DROPPED else "",
        "reminder": row.reminder,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
    }
    if operator:
        data |= {
            "queue": row.queue,
            "result": row.result,
            "checkpoint": row.checkpoint,
            "error_details": row.error_details,
            "idempotency_key": row.idempotency_key,
            "lease_until": row.lease_until,
            "leased_by": row.leased_by,
            "follow_up_tries": row.follow_up_tries,
        }
    return data


def _without_exception(row: TransitionLog) -> Any:
    """The input of an entry; where a failed run gave it, without the text of an exception, which has no code."""
    given = row.input
    if not (row.request_id or "").startswith("$run:") or not isinstance(given, dict) or given.get("code"):
        return given
    return {**given, "error": ""} if given.get("error") else given


def open_transition(item: Availability) -> dict[str, Any]:
    """A transition out of the record's state: allowed, or with the reasons its click would meet."""
    return {
        "name": item.name,
        "label": str(item.label),
        "description": str(item.description or ""),
        "target": list(item.targets),
        "allowed": item.allowed,
        "refusals": [refusal.as_dict() for refusal in shown(item.refusals)],
        "meta": plain(item.meta),
    }
