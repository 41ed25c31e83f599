"""Model: what records and runs may do, told again in a few tables and without the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPEN_STATES = ("open", "waiting", "solved")

# transition → (where it starts, where it leads); anybody's first, the library's own after.
PARCEL = {
    "send": (("packed", "stuck"), "labelling"),
    "scan": (("sent",), "sent"),
    "take_back": (("packed", "labelling", "sent", "stuck", "lost"), "returned"),
}
PARCEL_BY_ITSELF = {
    "labelled": (("labelling",), "sent"),
    "label_failed": (("labelling",), "stuck"),
    "label_lost": (("labelling",), "lost"),
}
TICKET = {
    "ask": (("open",), "waiting"),
    "reply": (("waiting",), "open"),
    "solve": (("open", "waiting", "escalated"), "solved"),
    "escalate": (OPEN_STATES, "escalated"),
    "touch": (("open",), "open"),
    "reopen": (("solved",), "open"),
}
TICKET_BY_ITSELF = {"close": (("solved",), "closed")}

EDGES: Mapping[str, Mapping[str, tuple[tuple[str, ...], str]]] = {
    "parcels": {**PARCEL, **PARCEL_BY_ITSELF, "$create": ((None,), "packed")},  # type: ignore[dict-item]
    "tickets": {**TICKET, **TICKET_BY_ITSELF, "$create": ((None,), "open")},  # type: ignore[dict-item]
}

# What follows from an outcome.
FOLLOW_UPS = {("print_label", "succeeded"): "labelled", ("print_label", "failed"): "label_failed"}
FOLLOW_UPS |= {("print_label", "dead"): "label_lost"}
ATTEMPTS = {"print_label": 3, "count_scan": 1, "refund_postage": 1, "nudge": 1, "tell_agent": 1}
FINISHED = ("succeeded", "failed", "dead", "cancelled")


def broken_rules_of_history(entries: list[Any], version: int | None, state: str | None) -> list[str]:
    """What is wrong with a record's entries; ``version`` and ``state`` are None for a record that was deleted."""
    found = []
    if [entry.version for entry in entries] != list(range(1, len(entries) + 1)):
        found.append(f"numbered {[entry.version for entry in entries]}")
    if version is not None and version != len(entries):
        found.append(f"version {version} after {len(entries)} entries")
    if state is not None and state != entries[-1].target:
        found.append(f"in {state}, but the last entry led to {entries[-1].target}")
    source = None
    for entry in entries:
        sources, target = EDGES[entry.lifecycle][entry.transition]
        if entry.source != source or source not in sources or entry.target != target:
            found.append(f"{entry.transition} from {entry.source} to {entry.target}, coming from {source}")
        source = entry.target
    keys = [entry.request_id for entry in entries if entry.request_id is not None]
    if len(keys) != len(set(keys)):
        found.append(f"a request took effect twice: {keys}")
    return found


def broken_rules_of_run(run: Mapping[str, Any]) -> list[str]:
    """What is wrong with a run as it stands, whatever came before."""
    found = []
    leased = (run["lease_until"] is not None, run["leased_by"] != "")
    if leased != (run["status"] == "running",) * 2:
        found.append(f"{run['status']} with a lease until {run['lease_until']} by {run['leased_by']!r}")
    if run["attempts"] > run["max_attempts"] or run["crashes"] > run["max_crashes"]:
        found.append(f"{run['attempts']} attempts, {run['crashes']} crashes")
    if run["outcome"] != (run["status"] if run["status"] in ("succeeded", "failed", "dead") else ""):
        found.append(f"{run['status']} with the outcome {run['outcome']!r}")
    if (run["finished_at"] is not None) != (run["status"] in FINISHED):
        found.append(f"{run['status']} finished at {run['finished_at']}")
    if (run["follow_up_due_at"] is not None) != (run["follow_up"] == "pending"):
        found.append(f"a follow-up {run['follow_up']} due at {run['follow_up_due_at']}")
    if run["follow_up"] != "none" and (run["effect"], run["outcome"]) not in FOLLOW_UPS:
        found.append(f"a follow-up {run['follow_up']} of {run['effect']} after {run['outcome']!r}")
    if run["outcome"] and run["follow_up"] == "none" and (run["effect"], run["outcome"]) in FOLLOW_UPS:
        found.append(f"no follow-up of {run['effect']} after {run['outcome']}")
    return found


def broken_rules_of_change(before: Mapping[str, Any], after: Mapping[str, Any], *, by_operator: bool) -> list[str]:
    """What is wrong with how a run became what it is."""
    found = [
        f"{name} fell from {before[name]} to {after[name]}"
        for name in ("attempts", "crashes", "fence")
        if after[name] < before[name]
    ]
    found += [
        f"{name} changed from {before[name]} to {after[name]}"
        for name in ("idempotency_key", "entry_id", "record_id", "effect", "stay_version", "created_at")
        if after[name] != before[name]
    ]
    if not by_operator and before["status"] in FINISHED:
        lasting = ("status", "outcome", "result", "error_kind", "attempts", "crashes", "fence", "finished_at")
        found += [f"{before['status']} already, yet {n} changed" for n in lasting if before[n] != after[n]]
        if before["follow_up"] in ("none", "applied", "dropped") and after["follow_up"] != before["follow_up"]:
            found.append(f"a follow-up {before['follow_up']} became {after['follow_up']}")
    return found
